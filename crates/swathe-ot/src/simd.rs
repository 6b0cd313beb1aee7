use std::fmt;

/// Which instructions the inner loops were compiled for. All paths give the same bits: every
/// loop works on sixteen lanes in one order and fuses every multiply-add.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SimdPath(Choice);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Choice {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2,
}

impl SimdPath {
    /// The best path of this machine.
    pub fn detect() -> SimdPath {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            return SimdPath(Choice::Avx2);
        }
        SimdPath::portable()
    }

    /// The path every machine has (on 64-bit ARM it is NEON, which is always there).
    pub const fn portable() -> SimdPath {
        SimdPath(Choice::Portable)
    }

    /// Whether loops run with AVX2 and FMA. Only `detect` makes such a value, so that the
    /// instructions are known to exist.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn is_avx2(self) -> bool {
        self.0 == Choice::Avx2
    }

    /// The name recorded with a run.
    pub fn name(self) -> &'static str {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Choice::Avx2 => "avx2+fma",
            Choice::Portable if cfg!(target_arch = "aarch64") => "neon",
            Choice::Portable => "portable",
        }
    }
}

impl fmt::Debug for SimdPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Defines a function once and compiles its body twice: with AVX2 and FMA, and plainly. The
/// first argument of the function is the [`SimdPath`] that picks between them.
macro_rules! compiled_per_path {
    ($(#[$meta:meta])* $vis:vis fn $name:ident $(<$($g:ident: $bound:path),+>)? ($($arg:ident: $ty:ty),* $(,)?) $(-> $ret:ty)? $body:block) => {
        $(#[$meta])*
        #[allow(clippy::too_many_arguments)]
        $vis fn $name $(<$($g: $bound),+>)? (path: $crate::simd::SimdPath, $($arg: $ty),*) $(-> $ret)? {
            #[inline(always)]
            #[allow(clippy::too_many_arguments)]
            fn plain $(<$($g: $bound),+>)? ($($arg: $ty),*) $(-> $ret)? $body
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2,fma")]
                #[allow(clippy::too_many_arguments)]
                fn avx2 $(<$($g: $bound),+>)? ($($arg: $ty),*) $(-> $ret)? {
                    plain $(::<$($g),+>)? ($($arg),*)
                }
                if path.is_avx2() {
                    // SAFETY: a path says AVX2 only if the processor was found to have it and FMA.
                    return unsafe { avx2 $(::<$($g),+>)? ($($arg),*) };
                }
            }
            #[cfg(not(target_arch = "x86_64"))]
            let _ = path;
            plain $(::<$($g),+>)? ($($arg),*)
        }
    };
}
pub(crate) use compiled_per_path;
