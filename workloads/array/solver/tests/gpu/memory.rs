//! The device memory that the workload predicts for lanes, compared with the actual use.

use std::sync::Arc;

use swathe::{Device, DeviceKind, GpuError, Stop, Workload};
use swathe_array::{Array, ArrayWorkload, Item, Key, MapKind, MapOperand, Operation};

use crate::{Random, gpu, one, two};

fn cases(random: &mut Random) -> Vec<(Operation, Vec<Item>)> {
    let bytes = |n: usize| Array::new(vec![n], vec![7u8; n]).unwrap();
    let key = |n: usize| Arc::new(bytes(n));
    let mut cases = Vec::new();
    for (n_lanes, n) in [(1, 1), (1, 100_003), (50, 1021), (300, 10_000), (65_536, 3)] {
        let lanes = |operation: Operation, item: Item| (operation, vec![item; n_lanes]);
        let floats = random.floats(&[n]);
        cases.extend([
            lanes(Operation::Xor(Key::Seed(1)), one(bytes(n))),
            lanes(Operation::Xor(Key::Cycle(key(3))), one(bytes(n))),
            lanes(Operation::Xor(Key::Cycle(key(50_001))), one(bytes(n))),
            lanes(Operation::Xor(Key::Array(key(n))), one(bytes(n))),
            lanes(Operation::Xor(Key::Second), two(bytes(n), bytes(n))),
            lanes(Operation::Map(MapKind::Exp), one(floats.clone())),
            lanes(Operation::Map(MapKind::Add(MapOperand::Second)), two(floats.clone(), floats)),
        ]);
    }
    for (n_lanes, [n_rows, n_inner, n_cols]) in
        [(1, [1, 1, 1]), (1, [300, 500, 200]), (100, [33, 65, 17]), (10_000, [2, 3, 1])]
    {
        let item = two(random.floats(&[n_rows, n_inner]), random.floats(&[n_inner, n_cols]));
        cases.push((Operation::Matmul, vec![item; n_lanes]));
    }
    cases
}

#[test]
fn need_covers_what_is_taken_and_not_much_more() {
    let Some(gpu) = gpu() else { return };
    for (operation, items) in cases(&mut Random(31)) {
        let workload: ArrayWorkload = ArrayWorkload::new(operation.clone());
        let size = workload.size(&items[0]);
        let form = workload.launch_form(&size).unwrap();
        let padded = swathe::Size { shape: form, ..size };
        let need = workload.need(&padded, DeviceKind::Gpu);
        let lanes_bytes = items.len() as u64 * (need.lane_bytes + need.solution_bytes);
        let bytes = lanes_bytes + need.scratch_bytes;
        let all: Vec<&Item> = items.iter().collect();
        let launch = |bytes: u64| {
            let small = gpu.with_memory(bytes);
            let lanes = workload.launch(&Device::Gpu(small.clone()), form, &all, &Stop::new());
            lanes.map(|lanes| assert_eq!(lanes.len(), items.len()))
        };
        let what = format!("{operation:?} of {} lanes of {form}", items.len());
        assert_eq!(launch(bytes), Ok(()), "{what}: {bytes} bytes are too few");
        // Half of it must not suffice: otherwise half of a device's memory would be unused.
        if lanes_bytes > 16 << 10 {
            assert!(
                matches!(launch(bytes / 2), Err(GpuError::OutOfMemory { .. })),
                "{what}: half of {bytes} bytes would do"
            );
        }
    }
}

#[test]
fn more_than_a_kernel_sees_is_refused_before_it_is_packed() {
    let Some(gpu) = gpu() else { return };
    let limit_bytes = gpu.info().binding_bytes_max;
    let lane_bytes = (64 << 20) - 4;
    let n_lanes = limit_bytes / lane_bytes + 1;
    let lane = one(Array::new(vec![lane_bytes as usize], vec![1u8; lane_bytes as usize]).unwrap());
    let items: Vec<&Item> = (0..n_lanes).map(|_| &lane).collect();
    let workload: ArrayWorkload = ArrayWorkload::new(Operation::Xor(Key::Seed(1)));
    let form = workload.launch_form(&workload.size(&lane)).unwrap();
    let lanes = workload.launch(&Device::Gpu(gpu.clone()), form, &items, &Stop::new());
    let Err(error) = lanes else { panic!("{n_lanes} lanes were launched") };
    assert_eq!(error, GpuError::TooLarge { wanted_bytes: n_lanes * lane_bytes, limit_bytes });
}

#[test]
fn a_stop_is_heard() {
    let Some(gpu) = gpu() else { return };
    let stop = Stop::new();
    stop.cancel();
    let lane = one(Array::new(vec![3], vec![1.0f32; 3]).unwrap());
    let workload: ArrayWorkload = ArrayWorkload::new(Operation::Map(MapKind::Exp));
    let form = workload.launch_form(&workload.size(&lane)).unwrap();
    let lanes = workload.launch(&Device::Gpu(gpu.clone()), form, &[&lane], &stop);
    assert!(matches!(lanes, Err(GpuError::Stopped)));
}

/// What a launch of a typical batch transfers: operands, results, and small tables.
#[test]
fn a_batch_is_one_dispatch_and_moves_each_byte_once() {
    let Some(gpu) = gpu() else { return };
    let mut random = Random(32);
    let n_lanes = 1000;
    let item = two(random.floats(&[16, 16]), random.floats(&[16, 16]));
    let floats = one(random.floats(&[1000]));
    for (operation, item, operand_bytes, table_bytes, result_bytes) in [
        (Operation::Matmul, &item, 2 * 1024, 36, 1024),
        (Operation::Map(MapKind::Exp), &floats, 4000, 0, 4000),
    ] {
        let workload: ArrayWorkload = ArrayWorkload::new(operation);
        let form = workload.launch_form(&workload.size(item)).unwrap();
        let gpu = gpu.with_memory(1 << 30);
        let lanes =
            workload.launch(&Device::Gpu(gpu.clone()), form, &vec![item; n_lanes], &Stop::new());
        assert_eq!(lanes.map(|lanes| lanes.len()), Ok(n_lanes));
        let figures = gpu.figures();
        assert_eq!((figures.n_submissions, figures.n_dispatches), (1, 1));
        let n = n_lanes as u64;
        assert_eq!(figures.uploaded_bytes, n * (operand_bytes + table_bytes));
        assert_eq!(figures.downloaded_bytes, n * result_bytes);
    }
}
