//! Pictures of solved pairs: the colours of their panels.

use swathe_ot::{Frame, Pair, Settings, Shape, lift, solve, synth};

use super::*;

fn with_picture<T>(pair: &Pair, settings: &Settings, take: impl FnOnce(PairPicture<'_>) -> T) -> T {
    let solution = solve(pair, settings).unwrap();
    let fields = lift(&solution, &pair.source, &pair.target).unwrap();
    take(PairPicture {
        pair_id: "a pair",
        source: &pair.source,
        target: &pair.target,
        fields: &fields,
        figures: (&solution).into(),
        motion_doubt: None,
        epsilon: settings.epsilon,
        relaxation: settings.relaxation,
        shows_intensities: false,
    })
}

fn draw(pair: &Pair, settings: &Settings) -> Canvas {
    with_picture(pair, settings, |picture| picture.draw())
}

/// How many pixels have a colour.
fn count(canvas: &Canvas, is: impl Fn(Color) -> bool) -> usize {
    let places = (0..canvas.h_px()).flat_map(|y| (0..canvas.w_px()).map(move |x| (x, y)));
    places.filter(|(x, y)| is(canvas.pixel(*x, *y).unwrap())).count()
}

fn block(shape: (usize, usize), y0: usize, x0: usize, side: usize) -> Frame {
    let (h, w) = shape;
    let inside =
        |i: usize| (y0..y0 + side).contains(&(i / w)) && (x0..x0 + side).contains(&(i % w));
    let density = (0..h * w).map(|i| f64::from(u8::from(inside(i)))).collect();
    Frame::new(h, w, density).unwrap()
}

#[test]
fn pictures_of_all_shapes_fit_on_a_slide() {
    for (h, w) in [(8, 8), (24, 200), (200, 24), (1, 40), (40, 1), (300, 300)] {
        let pair = synth::embryo_pair(Shape::new(h, w), 3, synth::Change::default());
        let settings = Settings { epsilon: 0.01, ..Settings::default() };
        let canvas = draw(&pair, &settings);
        assert!(canvas.w_px() <= 1920 && canvas.h_px() <= 1080, "{h}x{w}");
        assert!(canvas.w_px() >= 640 && canvas.h_px() >= 400, "{h}x{w}");
    }
}

/// A frame of 120 × 120 px with mass where `is_live` says so of (y, x).
fn frame_where(is_live: impl Fn(f64, f64) -> bool) -> Frame {
    let density = (0..120 * 120).map(|at| {
        let (y, x) = ((at / 120) as f64, (at % 120) as f64);
        f64::from(u8::from(is_live(y, x)))
    });
    Frame::new(120, 120, density.collect()).unwrap()
}

#[test]
fn thin_rings_and_particles_have_an_arrow_wherever_there_is_mass() {
    let ring =
        |radius: f64| frame_where(move |y, x| ((y - 60.0).hypot(x - 60.0) - radius).abs() < 0.6);
    // Sixty particles of one pixel.
    let particles =
        |shift: f64| frame_where(move |y, x| y % 20.0 == 4.0 && (x - shift) % 12.0 == 5.0);
    for pair in [Pair::new(ring(40.0), ring(43.0)), Pair::new(particles(0.0), particles(2.0))] {
        with_picture(&pair, &Settings::default(), |picture| {
            let layout = layout(&pair.source, &pair.target);
            let arrows = quiver::arrows(&picture, &layout);
            let step = (quiver::SPACING_PX / layout.zoom).round();
            for (at, mass) in pair.source.density.iter().enumerate() {
                let (y, x) = ((at / 120) as f64 + 0.5, (at % 120) as f64 + 0.5);
                let is_near =
                    |arrow: &quiver::Arrow| (arrow.y - y).hypot(arrow.x - x) <= 1.5 * step;
                assert!(*mass == 0.0 || arrows.iter().any(is_near), "({y}, {x})");
            }
        });
    }
}

#[test]
fn frames_can_be_shown_as_they_came() {
    let faint = |frame: Frame| Frame {
        density: frame.density.iter().map(|mass| mass / 2.0).collect(),
        ..frame
    };
    let shape = (20, 40);
    let pair = Pair::new(faint(block(shape, 6, 6, 8)), block(shape, 6, 10, 8));
    let grey = Color::WHITE.towards(INK, 0.5);
    let counted = |shows_intensities: bool| {
        with_picture(&pair, &Settings::default(), |picture| {
            let picture = PairPicture { shows_intensities, ..picture };
            count(&picture.draw(), |color| color == grey)
        })
    };
    assert!(counted(true) > counted(false) + 64 * 16);
}

#[test]
fn the_colours_say_which_frame_has_mass() {
    let shape = (20, 40);
    let pair = Pair::new(block(shape, 6, 6, 8), block(shape, 6, 10, 8));
    let canvas = draw(&pair, &Settings::default());
    let blue = Color::WHITE.towards(SOURCE, 0.88);
    let orange = Color::WHITE.towards(TARGET, 0.88);
    let parts = [blue, orange, BOTH].map(|color| count(&canvas, |c| c == color));
    // Each block overlaps the other by half; the legend has a swatch of each colour.
    assert_eq!(parts[0], parts[1]);
    assert_eq!(parts[0], parts[2]);
    assert!(parts[0] > 18 * 18);
}

#[test]
fn vanished_mass_is_blue_and_appeared_mass_red() {
    let shape = (20, 60);
    // The blocks are too far apart for mass to move at this price.
    let pair = Pair::new(block(shape, 6, 2, 6), block(shape, 6, 50, 6));
    let settings = Settings { relaxation: 0.01, ..Settings::default() };
    let canvas = draw(&pair, &settings);
    let red = count(&canvas, |c| c == Color::rgb(178, 18, 42));
    let blue = count(&canvas, |c| c == Color::rgb(28, 84, 160));
    assert!(red > 1000 && blue > 1000, "{red} {blue}");
}

#[test]
fn empty_frames_and_odd_pairs_are_drawn() {
    let empty = || Frame::new(20, 30, vec![0.0; 600]).unwrap();
    let full = || block((20, 30), 4, 5, 9);
    let pairs = [
        Pair::new(full(), empty()),
        Pair::new(empty(), full()),
        Pair::new(empty(), empty()),
        Pair::new(full(), full()),
        Pair::new(full().with_um_per_px(0.65), block((20, 30), 4, 5, 1).with_um_per_px(0.65)),
    ];
    let drawn: Vec<Canvas> = pairs.iter().map(|pair| draw(pair, &Settings::default())).collect();
    for (i, one) in drawn.iter().enumerate() {
        for other in &drawn[..i] {
            assert_ne!(one, other);
        }
    }
}
