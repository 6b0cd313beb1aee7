//! The columns of `pairs.parquet` after a pair's name and what came with the input: each is declared here, and only here.

use swathe_ot::{N_BANDS, Settings};
use swathe_run::record;
use swathe_run::store::record::Record as _;

use super::number_group::{Displacement, Gradient, Length, NumberGroup, Spectrum};
use super::reference_name;
use crate::pair_workload::PairAnswer;

/// Whether the results have a column of this name. A carried column must not have the same name.
pub fn is_result_column(name: &str) -> bool {
    let mut columns = PairRow::declared().iter();
    name == "row" || name == "pair_id" || columns.any(|column| column.name == name)
}

record! {
    /// The figures of a pair.
    #[derive(Clone, Debug)]
    pub struct PairRow / PairBuilders: figures, read, of(answer: &PairAnswer, settings: &Settings, um_per_px: Option<f64>) {
        /// how the solve ended: converged, max_iterations, empty_source, empty_target or both_empty
        status: Option<String>, value(0), page = Some(answer.solution.status.name().to_owned());
        /// sweeps at full resolution
        iterations: u64, value(1), page = answer.solution.iterations as u64;
        /// L1 residual of both marginals divided by the smaller mass: sum |P 1 - a exp(-f / relaxation)| and the same for the target
        residual: Option<f64>, value(2), ranked = Some(answer.solution.residual);
        /// transport cost <P, C> = sum of P(p, q) (coord_scale |p - q|)^2
        cost: Option<f64>, unit("scaled px^2"), value(3), page = Some(answer.solution.cost);
        /// transport cost in pixels: cost / coord_scale^2
        cost_px2: Option<f64>, unit("px^2"), value(4), ranked = Some(answer.solution.cost_px2);
        /// the whole minimised value: <P, C> + epsilon KL(P | R) + relaxation KL(P 1 | a) + relaxation KL(P^T 1 | b), KL(x | y) = sum x log(x / y) - x + y
        objective: Option<f64>, unit("scaled px^2"), value(5) = Some(answer.solution.objective);
        /// total of the source frame
        mass_src: Option<f64>, unit("input mass"), value(6), page = Some(answer.solution.mass_src);
        /// total of the target frame
        mass_tgt: Option<f64>, unit("input mass"), value(7), page = Some(answer.solution.mass_tgt);
        /// mass of the plan
        mass_transported: Option<f64>, unit("problem mass"), value(8), page = Some(answer.solution.mass_transported);
        /// target minus what arrives, signed: sum b - P^T 1
        mass_created: Option<f64>, unit("problem mass"), value(9), ranked = Some(answer.solution.mass_created);
        /// source minus what leaves, signed: sum a - P 1
        mass_destroyed: Option<f64>, unit("problem mass"), value(10), ranked = Some(answer.solution.mass_destroyed);
        /// mass_created of the pixels alone where it is positive: sum max(b - P^T 1, 0)
        mass_created_clamped: Option<f64>, unit("problem mass"), value(11) = Some(answer.solution.mass_created_clamped);
        /// mass_destroyed of the pixels alone where it is positive: sum max(a - P 1, 0)
        mass_destroyed_clamped: Option<f64>, unit("problem mass"), value(12) = Some(answer.solution.mass_destroyed_clamped);
        /// entropic blur that was used
        epsilon: Option<f64>, unit("scaled px^2") = Some(settings.epsilon);
        /// price of creating and destroying mass; inf: balanced
        relaxation: Option<f64>, unit("scaled px^2") = Some(settings.relaxation);
        /// price of creating mass, where it differs from that of destroying it; relaxation is then the latter
        relaxation_tgt: Option<f64>, unit("scaled px^2") = settings.relaxation_tgt;
        /// the measure that entropy is taken against
        reference: Option<String> = Some(reference_name(settings.reference).to_owned());
        /// factor from pixels of the frame to cost units
        coord_scale: Option<f64>, unit("per px") = Some(answer.solution.coord_scale);
        /// first row of the crop
        crop_y0: u32, unit("px") = answer.solution.geometry.crop.y0_px as u32;
        /// first column of the crop
        crop_x0: u32, unit("px") = answer.solution.geometry.crop.x0_px as u32;
        /// height of the crop
        crop_h: u32, unit("px") = answer.solution.geometry.crop.shape.h_px as u32;
        /// width of the crop
        crop_w: u32, unit("px") = answer.solution.geometry.crop.shape.w_px as u32;
        /// side of the square of pixels summed into one
        pool: u32, unit("px") = answer.solution.geometry.pool as u32;
        /// displacement (v_ab - v_aa: without the pull of entropy, unless --raw-velocity is given; v(p) = sum_q P(p, q) q / sum_q P(p, q) - p)
        displacement: NumberGroup<Displacement, 12>, value(13), ranked
            = NumberGroup::displacement(answer.summary.as_ref().map(|summary| &summary.displacement_px), um_per_px);
        /// plan's own displacement v_ab, which entropy pulls inward,
        displacement_raw: NumberGroup<Displacement, 12>
            = NumberGroup::displacement(answer.summary.as_ref().map(|summary| &summary.displacement_raw_px), um_per_px);
        /// error bar: the mean length of the displacement's error over the source's mass is at most this for nine of ten pairs whose bodies keep their mass and their motion is that of least transport; it does not cover mass that changes in one place (see motion_doubt), bodies that turn or shear (transport takes the shortest ways), and the pixels of masks without partly covered ones; null with --raw-velocity
        displacement_err: NumberGroup<Length, 2>, page
            = NumberGroup::length(answer.solution.error_bar.map(|bar| bar.total_px()), um_per_px);
        /// part of the error bar that a smaller epsilon would take away; a run warns where that is more than 2 % of the displacement and 0.05 px for the median pair
        displacement_err_epsilon: NumberGroup<Length, 2>
            = NumberGroup::length(answer.solution.error_bar.map(|bar| bar.epsilon_px), um_per_px);
        /// in words, why the motion may be wrong: mass changes in one place and not everywhere (a body vanished, appeared, grew or faded, or crosses the frame's edge), which the plan shows as motion and the error bar does not cover; null if no reason was found
        motion_doubt: Option<String>, page = answer.doubt.map(|doubt| doubt.to_string());
        /// S = OT(a,b) - OT(a,a)/2 - OT(b,b)/2 + epsilon/2 (mass_a - mass_b)^2, zero for equal frames; null with --raw-velocity, with two prices and for empty frames
        sinkhorn_divergence: Option<f64>, unit("scaled px^2") = answer.solution.sinkhorn_divergence;
        /// how far the objective can be above the minimum: its value minus that of the dual
        gap: Option<f64>, unit("scaled px^2") = Some(answer.solution.gap);
        /// how far the plan spreads the mass of one pixel: the root of the mean squared distance from its mean destination, sqrt(sum P(p, q) |q - p - v_ab(p)|^2 / sum P)
        blur: NumberGroup<Length, 2>
            = NumberGroup::length(answer.blurring.map(|blurring| blurring.blur_px), um_per_px);
        /// blur_px divided by the median displacement; with --raw-velocity a run warns where it is above 1/2 for the median pair, otherwise the pull of the blur is subtracted and displacement_err_epsilon_px says what is left
        blur_ratio: Option<f64> = answer.blurring.map(|blurring| blurring.per_displacement);
        /// blur_px divided by the width of the objects (four standard deviations across their long axes, mean over mass)
        blur_width_ratio: Option<f64> = answer.blurring.map(|blurring| blurring.per_width);
        /// mass_tgt / mass_src - 1; created and destroyed are relative to normalised mass unless --no-normalize is given
        mass_change: Option<f64>, page
            = (answer.solution.mass_src > 0.0).then(|| answer.solution.mass_tgt / answer.solution.mass_src - 1.0);
        /// mean of the displacement along y over the source's mass: sum a v_y / sum a
        velocity_mean_y: NumberGroup<Length, 2>
            = NumberGroup::length(answer.velocity_mean_yx_px.map(|[y, _]| y), um_per_px);
        /// mean of the displacement along x over the source's mass: sum a v_x / sum a
        velocity_mean_x: NumberGroup<Length, 2>
            = NumberGroup::length(answer.velocity_mean_yx_px.map(|[_, x]| x), um_per_px);
        /// affine fit of each object: motion of its centre along y, mean of the objects over mass; an object is a connected set of twelve pixels or more
        translation_y: NumberGroup<Length, 2>
            = NumberGroup::length(answer.fit.map(|fit| fit.translation_yx_px[0]), um_per_px);
        /// affine fit of each object: motion of its centre along x, mean of the objects over mass; an object is a connected set of twelve pixels or more
        translation_x: NumberGroup<Length, 2>
            = NumberGroup::length(answer.fit.map(|fit| fit.translation_yx_px[1]), um_per_px);
        /// affine fit of each object: turn of its long axis, from x towards y (clockwise where y points down), mean of the objects over mass; null if all are nearly round
        rotation_deg: Option<f64>, unit("degree") = answer.fit.map(|fit| fit.rotation_deg);
        /// affine fit of each object: relative change of length along its long axis, mean of the objects over mass
        strain_major: Option<f64> = answer.fit.map(|fit| fit.strain_major);
        /// affine fit of each object: relative change of length across its long axis, mean of the objects over mass
        strain_minor: Option<f64> = answer.fit.map(|fit| fit.strain_minor);
        /// divergence dv_y/dy + dv_x/dx of the displacement, by central differences,
        div: NumberGroup<Gradient, 7>, unit("per step") = NumberGroup::gradient(answer.summary.map(|summary| summary.div));
        /// curl dv_y/dx - dv_x/dy of the displacement, by central differences (near zero for a gradient field: it shows differencing and tearing, not rotation; see rotation_deg)
        curl: NumberGroup<Gradient, 7>, unit("per step") = NumberGroup::gradient(answer.summary.map(|summary| summary.curl));
        /// vx
        dct_vx: NumberGroup<Spectrum, N_BANDS>, unit("px^2") = NumberGroup::spectrum(answer.summary.map(|summary| summary.dct_vx));
        /// vy
        dct_vy: NumberGroup<Spectrum, N_BANDS>, unit("px^2") = NumberGroup::spectrum(answer.summary.map(|summary| summary.dct_vy));
        /// div
        dct_div: NumberGroup<Spectrum, N_BANDS>, unit("per step^2") = NumberGroup::spectrum(answer.summary.map(|summary| summary.dct_div));
        /// curl
        dct_curl: NumberGroup<Spectrum, N_BANDS>, unit("per step^2") = NumberGroup::spectrum(answer.summary.map(|summary| summary.dct_curl));
        /// file with the maps, from the run folder on; null if none was written
        fields_path: Option<String> = answer.fields.as_ref().map(|file| file.path.clone());
        /// file with the listed entries of the plan, from the run folder on; null if none was written
        coupling_path: Option<String> = answer.coupling.as_ref().map(|file| file.path.clone());
    }
}
