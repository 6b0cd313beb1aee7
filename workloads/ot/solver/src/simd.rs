//! Inner loops compiled for several instruction sets. All paths give the same bits: every loop
//! works on sixteen lanes in one order and fuses every multiply-add.

/// Defines a function once and compiles its body twice: with AVX2 and FMA, and for the baseline
/// instruction set. The function's first argument, a [`swathe::Simd`], selects one of the two.
macro_rules! compiled_per_path {
    ($(#[$meta:meta])* $vis:vis fn $name:ident $(<$($g:ident: $bound:path),+>)? ($($arg:ident: $ty:ty),* $(,)?) $(-> $ret:ty)? $body:block) => {
        $(#[$meta])*
        #[allow(clippy::too_many_arguments)]
        $vis fn $name $(<$($g: $bound),+>)? (path: swathe::Simd, $($arg: $ty),*) $(-> $ret)? {
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
                if path.has_avx2() {
                    // SAFETY: `has_avx2` is true only if this processor has AVX2 and FMA.
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
