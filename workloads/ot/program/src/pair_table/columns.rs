//! The columns of `pairs.parquet`, in their order.

use swathe_ot::{N_BANDS, Settings, Spread, Summary};

use super::reference_name;
use crate::pair_workload::PairAnswer;

/// One column: its name, its meaning, and how its value is computed.
pub(super) struct Column {
    pub(super) name: String,
    pub(super) unit: &'static str,
    pub(super) description: String,
    pub(super) is_nullable: bool,
    pub(super) value: Value,
}

/// How the value of a column is computed, by its type.
pub(super) enum Value {
    Text(fn(&PairAnswer, &Settings) -> Option<String>),
    Count(fn(&PairAnswer) -> u64),
    Pixels(Box<PixelsOf>),
    Number(Box<NumberOf>),
}

type PixelsOf = dyn Fn(&PairAnswer) -> u32 + Send + Sync;
type NumberOf = dyn Fn(&PairAnswer, &Settings) -> Option<f64> + Send + Sync;

/// Whether the results have a column of this name. A carried column must not have the same name.
pub fn is_result_column(name: &str) -> bool {
    name == "row" || name == "pair_id" || columns().iter().any(|column| column.name == name)
}

/// All columns after `pair_id` and the carried columns.
pub(super) fn columns() -> Vec<Column> {
    let mut all = Columns(Vec::new());
    all.text(
        "status",
        "how the solve ended: converged, max_iterations, empty_source, empty_target or both_empty",
        |answer, _| Some(answer.solution.status.name().to_owned()),
    );
    all.add(
        "iterations",
        "",
        "sweeps at full resolution",
        Value::Count(|answer| answer.solution.iterations as u64),
    );
    all.number(
        "residual",
        "",
        "L1 residual of both marginals divided by the smaller mass: sum |P 1 - a exp(-f / relaxation)| and the same for the target",
        |answer, _| answer.solution.residual,
    );
    all.number(
        "cost",
        "scaled px^2",
        "transport cost <P, C> = sum of P(p, q) (coord_scale |p - q|)^2",
        |answer, _| answer.solution.cost,
    );
    all.number(
        "cost_px2",
        "px^2",
        "transport cost in pixels: cost / coord_scale^2",
        |answer, _| answer.solution.cost_px2,
    );
    all.number(
        "objective",
        "scaled px^2",
        "the whole minimised value: <P, C> + epsilon KL(P | R) + relaxation KL(P 1 | a) + relaxation KL(P^T 1 | b), KL(x | y) = sum x log(x / y) - x + y",
        |answer, _| answer.solution.objective,
    );
    all.number("mass_src", "input mass", "total of the source frame", |answer, _| {
        answer.solution.mass_src
    });
    all.number("mass_tgt", "input mass", "total of the target frame", |answer, _| {
        answer.solution.mass_tgt
    });
    all.number("mass_transported", "problem mass", "mass of the plan", |answer, _| {
        answer.solution.mass_transported
    });
    all.number(
        "mass_created",
        "problem mass",
        "target minus what arrives, signed: sum b - P^T 1",
        |answer, _| answer.solution.mass_created,
    );
    all.number(
        "mass_destroyed",
        "problem mass",
        "source minus what leaves, signed: sum a - P 1",
        |answer, _| answer.solution.mass_destroyed,
    );
    all.number(
        "mass_created_clamped",
        "problem mass",
        "mass_created of the pixels alone where it is positive: sum max(b - P^T 1, 0)",
        |answer, _| answer.solution.mass_created_clamped,
    );
    all.number(
        "mass_destroyed_clamped",
        "problem mass",
        "mass_destroyed of the pixels alone where it is positive: sum max(a - P 1, 0)",
        |answer, _| answer.solution.mass_destroyed_clamped,
    );
    all.number("epsilon", "scaled px^2", "entropic blur that was used", |_, settings| {
        settings.epsilon
    });
    all.number(
        "relaxation",
        "scaled px^2",
        "price of creating and destroying mass; inf: balanced",
        |_, settings| settings.relaxation,
    );
    all.maybe_boxed(
        "relaxation_tgt",
        "scaled px^2",
        "price of creating mass, where it differs from that of destroying it; relaxation is then the latter",
        Box::new(|_, settings| settings.relaxation_tgt),
    );
    all.text("reference", "the measure that entropy is taken against", |_, settings| {
        Some(reference_name(settings.reference).to_owned())
    });
    all.number(
        "coord_scale",
        "per px",
        "factor from pixels of the frame to cost units",
        |answer, _| answer.solution.coord_scale,
    );
    all.pixels("crop_y0", "first row of the crop", |answer| answer.solution.geometry.crop.y0_px);
    all.pixels("crop_x0", "first column of the crop", |answer| answer.solution.geometry.crop.x0_px);
    all.pixels("crop_h", "height of the crop", |answer| answer.solution.geometry.crop.shape.h_px);
    all.pixels("crop_w", "width of the crop", |answer| answer.solution.geometry.crop.shape.w_px);
    all.pixels("pool", "side of the square of pixels summed into one", |answer| {
        answer.solution.geometry.pool
    });
    all.displacement(
        "displacement",
        "displacement (v_ab - v_aa: without the pull of entropy, unless --raw-velocity is given; v(p) = sum_q P(p, q) q / sum_q P(p, q) - p)",
        |summary| &summary.displacement_px,
    );
    all.displacement(
        "displacement_raw",
        "plan's own displacement v_ab, which entropy pulls inward,",
        |summary| &summary.displacement_raw_px,
    );
    all.length(
        "displacement_err",
        "error bar: the mean length of the displacement's error over the source's mass is at most this for nine of ten pairs whose bodies keep their mass and their motion is that of least transport; it does not cover mass that changes in one place (see motion_doubt), bodies that turn or shear (transport takes the shortest ways), and the pixels of masks without partly covered ones; null with --raw-velocity",
        |answer| Some(answer.solution.error_bar?.total_px()),
    );
    all.length(
        "displacement_err_epsilon",
        "part of the error bar that a smaller epsilon would take away; a run warns where that is more than 2 % of the displacement and 0.05 px for the median pair",
        |answer| Some(answer.solution.error_bar?.epsilon_px),
    );
    all.text(
        "motion_doubt",
        "in words, why the motion may be wrong: mass changes in one place and not everywhere (a body vanished, appeared, grew or faded, or crosses the frame's edge), which the plan shows as motion and the error bar does not cover; null if no reason was found",
        |answer, _| answer.doubt.map(|doubt| doubt.to_string()),
    );
    all.maybe(
        "sinkhorn_divergence",
        "scaled px^2",
        "S = OT(a,b) - OT(a,a)/2 - OT(b,b)/2 + epsilon/2 (mass_a - mass_b)^2, zero for equal frames; null with --raw-velocity, with two prices and for empty frames",
        |answer| answer.solution.sinkhorn_divergence,
    );
    all.maybe(
        "gap",
        "scaled px^2",
        "how far the objective can be above the minimum: its value minus that of the dual",
        |answer| Some(answer.solution.gap),
    );
    all.length(
        "blur",
        "how far the plan spreads the mass of one pixel: the root of the mean squared distance from its mean destination, sqrt(sum P(p, q) |q - p - v_ab(p)|^2 / sum P)",
        |answer| Some(answer.blurring?.blur_px),
    );
    all.maybe(
        "blur_ratio",
        "",
        "blur_px divided by the median displacement; with --raw-velocity a run warns where it is above 1/2 for the median pair, otherwise the pull of the blur is subtracted and displacement_err_epsilon_px says what is left",
        |answer| Some(answer.blurring?.per_displacement),
    );
    all.maybe(
        "blur_width_ratio",
        "",
        "blur_px divided by the width of the objects (four standard deviations across their long axes, mean over mass)",
        |answer| Some(answer.blurring?.per_width),
    );
    all.maybe(
        "mass_change",
        "",
        "mass_tgt / mass_src - 1; created and destroyed are relative to normalised mass unless --no-normalize is given",
        |answer| {
            let solution = &answer.solution;
            (solution.mass_src > 0.0).then(|| solution.mass_tgt / solution.mass_src - 1.0)
        },
    );
    for (axis, name) in ["y", "x"].into_iter().enumerate() {
        all.length(
            &format!("velocity_mean_{name}"),
            &format!("mean of the displacement along {name} over the source's mass: sum a v_{name} / sum a"),
            move |answer| Some(answer.velocity_mean_yx_px?[axis]),
        );
    }
    for (axis, name) in ["y", "x"].into_iter().enumerate() {
        all.length(
            &format!("translation_{name}"),
            &format!("affine fit of each object: motion of its centre along {name}, mean of the objects over mass; an object is a connected set of twelve pixels or more"),
            move |answer| Some(answer.fit?.translation_yx_px[axis]),
        );
    }
    all.maybe(
        "rotation_deg",
        "degree",
        "affine fit of each object: turn of its long axis, from x towards y (clockwise where y points down), mean of the objects over mass; null if all are nearly round",
        |answer| Some(answer.fit?.rotation_deg),
    );
    all.maybe(
        "strain_major",
        "",
        "affine fit of each object: relative change of length along its long axis, mean of the objects over mass",
        |answer| Some(answer.fit?.strain_major),
    );
    all.maybe(
        "strain_minor",
        "",
        "affine fit of each object: relative change of length across its long axis, mean of the objects over mass",
        |answer| Some(answer.fit?.strain_minor),
    );
    all.spread(
        "div",
        "divergence dv_y/dy + dv_x/dx of the displacement, by central differences,",
        |summary| summary.div,
    );
    all.spread(
        "curl",
        "curl dv_y/dx - dv_x/dy of the displacement, by central differences (near zero for a gradient field: it shows differencing and tearing, not rotation; see rotation_deg)",
        |summary| summary.curl,
    );
    all.bands("vx", "px^2", |summary| &summary.dct_vx);
    all.bands("vy", "px^2", |summary| &summary.dct_vy);
    all.bands("div", "per step^2", |summary| &summary.dct_div);
    all.bands("curl", "per step^2", |summary| &summary.dct_curl);
    all.text(
        "fields_path",
        "file with the maps, from the run folder on; null if none was written",
        |answer, _| answer.fields.as_ref().map(|file| file.path.clone()),
    );
    all.text(
        "coupling_path",
        "file with the listed entries of the plan, from the run folder on; null if none was written",
        |answer, _| answer.coupling.as_ref().map(|file| file.path.clone()),
    );
    all.0
}

/// Statistics in the order of the columns.
type Statistic = (&'static str, &'static str, fn(&Spread) -> f64);
const STATISTICS: [Statistic; 6] = [
    ("mean", "mean", |spread| spread.mean),
    ("std", "standard deviation", |spread| spread.std),
    ("p50", "median", |spread| spread.p50),
    ("p90", "90th percentile", |spread| spread.p90),
    ("p95", "95th percentile", |spread| spread.p95),
    ("max", "largest", |spread| spread.max),
];

struct Columns(Vec<Column>);

impl Columns {
    fn add(&mut self, name: &str, unit: &'static str, description: &str, value: Value) {
        self.0.push(Column {
            name: name.to_owned(),
            unit,
            description: description.to_owned(),
            is_nullable: matches!(value, Value::Text(_) | Value::Number(_)),
            value,
        });
    }

    fn text(
        &mut self,
        name: &str,
        description: &str,
        value: fn(&PairAnswer, &Settings) -> Option<String>,
    ) {
        self.add(name, "", description, Value::Text(value));
    }

    fn number(
        &mut self,
        name: &str,
        unit: &'static str,
        description: &str,
        value: fn(&PairAnswer, &Settings) -> f64,
    ) {
        let value = move |answer: &PairAnswer, settings: &Settings| Some(value(answer, settings));
        self.add(name, unit, description, Value::Number(Box::new(value)));
    }

    /// A number that some pairs do not have.
    fn maybe(
        &mut self,
        name: &str,
        unit: &'static str,
        description: &str,
        value: fn(&PairAnswer) -> Option<f64>,
    ) {
        self.maybe_boxed(name, unit, description, Box::new(move |answer, _| value(answer)));
    }

    fn maybe_boxed(
        &mut self,
        name: &str,
        unit: &'static str,
        description: &str,
        value: Box<NumberOf>,
    ) {
        self.add(name, unit, description, Value::Number(value));
    }

    /// A length that some pairs do not have: in pixels, then in µm (null if the width of a pixel is
    /// unknown).
    fn length(
        &mut self,
        name: &str,
        description: &str,
        value: impl Fn(&PairAnswer) -> Option<f64> + Clone + Send + Sync + 'static,
    ) {
        let px = value.clone();
        self.maybe_boxed(
            &format!("{name}_px"),
            "px",
            description,
            Box::new(move |answer, _| px(answer)),
        );
        self.maybe_boxed(
            &format!("{name}_um"),
            "um",
            description,
            Box::new(move |answer, _| Some(value(answer)? * answer.um_per_px?)),
        );
    }

    fn pixels(&mut self, name: &str, description: &str, value: fn(&PairAnswer) -> usize) {
        self.0.push(Column {
            name: name.to_owned(),
            unit: "px",
            description: description.to_owned(),
            is_nullable: false,
            value: Value::Pixels(Box::new(move |answer| value(answer) as u32)),
        });
    }

    /// Adds the statistics of a displacement in pixels, then in µm (null if the width of a pixel is
    /// unknown).
    fn displacement(&mut self, name: &str, what: &str, of: fn(&Summary) -> &Spread) {
        for (suffix, unit) in [("px", "px"), ("um", "um")] {
            for (statistic, words, value) in STATISTICS {
                let is_um = suffix == "um";
                let value = move |answer: &PairAnswer, _: &Settings| {
                    let scale = if is_um { answer.um_per_px? } else { 1.0 };
                    Some(value(of(answer.summary.as_ref()?)) * scale)
                };
                self.add(
                    &format!("{name}_{statistic}_{suffix}"),
                    unit,
                    &format!("{words} of the length of the {what} over the source's pixels"),
                    Value::Number(Box::new(value)),
                );
            }
        }
    }

    fn spread(&mut self, name: &str, what: &str, of: fn(&Summary) -> Spread) {
        let lowest: Statistic = ("min", "smallest", |spread| spread.min);
        for (statistic, words, value) in STATISTICS.into_iter().chain([lowest]) {
            let value = move |answer: &PairAnswer, _: &Settings| {
                Some(value(&of(answer.summary.as_ref()?)))
            };
            self.add(
                &format!("{name}_{statistic}"),
                "per step",
                &format!("{words} of the {what} over the source's pixels"),
                Value::Number(Box::new(value)),
            );
        }
    }

    fn bands(&mut self, name: &str, unit: &'static str, of: fn(&Summary) -> &[f64; N_BANDS]) {
        for band in 0..N_BANDS {
            let value =
                move |answer: &PairAnswer, _: &Settings| Some(of(answer.summary.as_ref()?)[band]);
            self.add(
                &format!("dct_{name}_{band}"),
                unit,
                &format!("energy of {name} in radial band {band} of {N_BANDS} of its cosine transform, slow to fast"),
                Value::Number(Box::new(value)),
            );
        }
    }
}
