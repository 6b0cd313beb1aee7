//! A figure is formatted in the same way everywhere.

use swathe_run::explain::quantity::{bytes, count, percent, rate, time};

/// The expected texts are those of the page's script for the same numbers.
#[test]
fn figures_read_as_they_do_on_the_page() {
    assert_eq!(count(0), "0");
    assert_eq!(count(1_234_567), "1,234,567");
    for (ms, text) in [
        (0.0, "0 ms"),
        (0.35, "350 µs"),
        (0.00035, "0.35 µs"),
        (0.9994, "999 µs"),
        (0.9996, "1 ms"),
        (12.34, "12.3 ms"),
        (12.35, "12.3 ms"),
        (9.995, "9.99 ms"),
        (99.95, "100 ms"),
        (999.4, "999 ms"),
        (999.6, "1 s"),
        (4560.0, "4.56 s"),
        (64_000.0, "64 s"),
        (119_900.0, "120 s"),
        (119_951.0, "2 min 0 s"),
        (125_000.0, "2 min 5 s"),
        (7_199_400.0, "119 min 59 s"),
        (7_200_000.0, "2 h 0 min"),
        (5_430_000_000.0, "1,508 h 20 min"),
    ] {
        assert_eq!(time(ms), text, "{ms}");
    }
    for (n, text) in [
        (0, "0 bytes"),
        (1023, "1,023 bytes"),
        (1536, "1.5 KiB"),
        (1_047_552, "1,023 KiB"),
        (1_048_064, "1 MiB"),
        (1_048_576, "1 MiB"),
        (100 << 20, "100 MiB"),
    ] {
        assert_eq!(bytes(n), text, "{n}");
    }
    assert_eq!(rate(249.6), "250/s");
    assert_eq!(rate(999.6), "1,000/s");
    assert_eq!(rate(1_234.5), "1,235/s");
    assert_eq!(rate(0.1234), "0.123/s");
    for (share, text) in [
        (0.0, "0 %"),
        (0.0001, "< 0.1 %"),
        (0.0005, "0.1 %"),
        (0.123, "12.3 %"),
        (0.1235, "12.3 %"),
        (0.9996, "100 %"),
        (0.9, "90 %"),
        (1.0, "100 %"),
    ] {
        assert_eq!(percent(share), text, "{share}");
    }
    assert_eq!(time(f64::NAN), "–");
}
