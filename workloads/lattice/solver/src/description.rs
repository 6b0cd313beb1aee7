//! Lattices that are described, and only built while somebody works on them.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::{Lattice, LatticeError};

/// A lattice in few bytes: its sizes and the ids of what is blocked.
///
/// A built lattice with blocked vertices costs a bit per vertex; thousands of questions about large
/// lattices would not fit in memory. Whoever asks for the lattice while another still holds it
/// gets the same one.
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
    /// Ascending, each once.
    blocked: Vec<u32>,
    built: Mutex<Weak<Lattice>>,
}

impl LatticeDescription {
    /// Describes a lattice with `sizes[axis]` vertices along each axis and these vertices blocked;
    /// naming one twice is no error.
    pub fn new(sizes: &[u32], blocked: Vec<u64>) -> Result<Self, LatticeError> {
        let open = Lattice::new(sizes)?;
        let mut ids = Vec::with_capacity(blocked.len());
        for vertex in blocked {
            open.grid()?;
            ids.push(open.id(vertex)? as u32);
        }
        ids.sort_unstable();
        ids.dedup();
        Ok(Self {
            sizes: sizes.to_vec(),
            blocked: ids,
            built: Mutex::default(),
        })
    }

    /// Vertices along each axis.
    pub fn sizes(&self) -> &[u32] {
        &self.sizes
    }

    /// The blocked vertices, ascending.
    pub fn blocked(&self) -> &[u32] {
        &self.blocked
    }

    /// Vertices that are blocked.
    pub fn n_blocked(&self) -> u64 {
        self.blocked.len() as u64
    }

    /// Whether a vertex is blocked; ids outside the lattice are not.
    pub fn is_blocked(&self, vertex: u64) -> bool {
        u32::try_from(vertex).is_ok_and(|id| self.blocked.binary_search(&id).is_ok())
    }

    /// The lattice itself: the one that is in use already, or a new one.
    pub fn build(&self) -> Result<Arc<Lattice>, LatticeError> {
        // Held while building, so that nobody builds the same lattice at the same time.
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
        assert!(matches!(
            error(&[3, 1], vec![]),
            LatticeError::AxisSize { axis: 1, size: 1 }
        ));
        assert!(matches!(
            error(&[3], vec![3]),
            LatticeError::OutOfRange { vertex: 3, .. }
        ));
        assert!(matches!(
            error(&[100; 5], vec![0]),
            LatticeError::TooManyVertices { .. }
        ));
    }
}
