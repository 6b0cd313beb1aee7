//! Descriptions of lattices: a lattice is built from its description only while it is in use.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::{Lattice, LatticeError};

/// A lattice in few bytes: its sizes and the ids of the blocked vertices.
///
/// A built lattice with blocked vertices costs a bit per vertex; thousands of large ones would not
/// fit in memory. While a built lattice is in use, [`LatticeDescription::build`] returns the same
/// one.
///
/// ```
/// use swathe_lattice::LatticeDescription;
///
/// let description = LatticeDescription::new(&[3, 3], vec![4, 4])?;
/// assert_eq!(description.n_blocked(), 1);
/// assert_eq!(description.build()?.n_free(), 8);
/// # Ok::<(), swathe_lattice::LatticeError>(())
/// ```
#[derive(Debug)]
pub struct LatticeDescription {
    sizes: Vec<u32>,
    /// Ascending, without duplicates.
    blocked: Vec<u32>,
    built: Mutex<Weak<Lattice>>,
}

impl LatticeDescription {
    /// Describes a lattice with `sizes[axis]` vertices along each axis and these vertices blocked;
    /// duplicates are allowed.
    ///
    /// # Errors
    /// If the sizes are invalid, a blocked vertex is outside the lattice, or vertices are blocked
    /// in a lattice that is too large to be searched.
    pub fn new(sizes: &[u32], blocked: Vec<u64>) -> Result<Self, LatticeError> {
        let open = Lattice::new(sizes)?;
        let mut ids = Vec::with_capacity(blocked.len());
        for vertex in blocked {
            open.grid()?;
            ids.push(open.id(vertex)? as u32);
        }
        ids.sort_unstable();
        ids.dedup();
        Ok(Self { sizes: sizes.to_vec(), blocked: ids, built: Mutex::default() })
    }

    /// Vertices along each axis.
    pub fn sizes(&self) -> &[u32] {
        &self.sizes
    }

    /// The blocked vertices, ascending.
    pub fn blocked(&self) -> &[u32] {
        &self.blocked
    }

    /// The number of blocked vertices.
    pub fn n_blocked(&self) -> u64 {
        self.blocked.len() as u64
    }

    /// Whether a vertex is blocked; false for ids outside the lattice.
    pub fn is_blocked(&self, vertex: u64) -> bool {
        u32::try_from(vertex).is_ok_and(|id| self.blocked.binary_search(&id).is_ok())
    }

    /// The built lattice: the one that is already in use, or a new one.
    ///
    /// # Errors
    /// Never in practice: [`LatticeDescription::new`] has checked the sizes and vertices.
    pub fn build(&self) -> Result<Arc<Lattice>, LatticeError> {
        // The lock is held while building, so that two threads do not build the same lattice.
        let mut built = self.built.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lattice) = built.upgrade() {
            return Ok(lattice);
        }
        let blocked = self.blocked.iter().map(|&id| u64::from(id));
        let lattice = Arc::new(Lattice::new(&self.sizes)?.with_blocked(blocked)?);
        *built = Arc::downgrade(&lattice);
        Ok(lattice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lattice_in_use_is_shared() {
        let description = LatticeDescription::new(&[4, 4], vec![7, 2, 7]).unwrap();
        let blocked = [1, 2, 7, 1 << 32 | 7].map(|vertex| description.is_blocked(vertex));
        assert_eq!(blocked, [false, true, true, false]);
        let first = description.build().unwrap();
        assert!(Arc::ptr_eq(&first, &description.build().unwrap()));
        drop(first);
        let again = description.build().unwrap();
        assert_eq!((again.n_blocked(), again.is_blocked(2)), (2, true));
    }

    #[test]
    fn what_cannot_be_built_is_not_described() {
        let error = |sizes: &[u32], blocked| LatticeDescription::new(sizes, blocked).unwrap_err();
        assert!(matches!(error(&[3, 1], vec![]), LatticeError::AxisSize { axis: 1, size: 1 }));
        assert!(matches!(error(&[3], vec![3]), LatticeError::OutOfRange { vertex: 3, .. }));
        assert!(matches!(error(&[100; 5], vec![0]), LatticeError::TooManyVertices { .. }));
    }
}
