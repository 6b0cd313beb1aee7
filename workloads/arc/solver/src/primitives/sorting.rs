//! Python's `sorted`: the list sort of CPython 3.11, comparison by comparison.
//!
//! Keys that are sets are only partly ordered, so the outcome depends on which comparisons are made;
//! for keys with a total order any stable sort gives the same.

use crate::value::Value;
use crate::value::fault::Result;
use crate::value::operator::less;

/// The positions of the keys in sorted order.
pub(crate) fn sorted(keys: &[Value]) -> Result<Vec<u32>> {
    let mut order: Vec<u32> = (0..keys.len() as u32).collect();
    if keys.iter().all(|k| matches!(k, Value::Int(_))) {
        order.sort_by_key(|&k| keys[k as usize].as_int());
    } else if keys.iter().all(|k| matches!(k, Value::Pair(..))) {
        order.sort_by_key(
            |&k| {
                if let Value::Pair(i, j) = keys[k as usize] { (i, j) } else { (0, 0) }
            },
        );
    } else {
        Sort { keys, list: &mut order, min_gallop: MIN_GALLOP, runs: Vec::new() }.run()?;
    }
    Ok(order)
}

/// The positions of the keys in falling order, equal ones in the order given: `sorted(…, reverse=True)`.
pub(crate) fn sorted_falling(keys: &[Value]) -> Result<Vec<u32>> {
    // CPython reverses the list, sorts it, and reverses it again.
    let reversed: Vec<Value> = keys.iter().rev().cloned().collect();
    let last = keys.len() as u32;
    let mut order = sorted(&reversed)?;
    order.reverse();
    Ok(order.into_iter().map(|k| last - 1 - k).collect())
}

const MIN_GALLOP: usize = 7;

struct Run {
    start: usize,
    len: usize,
    power: u32,
}

struct Sort<'a> {
    keys: &'a [Value],
    list: &'a mut [u32],
    min_gallop: usize,
    runs: Vec<Run>,
}

impl Sort<'_> {
    fn less(&self, a: u32, b: u32) -> Result<bool> {
        less(&self.keys[a as usize], &self.keys[b as usize])
    }

    fn run(mut self) -> Result<()> {
        let n = self.list.len();
        if n < 2 {
            return Ok(());
        }
        let min_run = min_run(n);
        let mut low = 0;
        while low < n {
            let (mut len, descending) = self.count_run(low)?;
            if descending {
                self.list[low..low + len].reverse();
            }
            if len < min_run {
                let force = min_run.min(n - low);
                self.binary_insertion(low, low + force, low + len)?;
                len = force;
            }
            self.found_new_run(low, len)?;
            low += len;
        }
        while self.runs.len() > 1 {
            let n = self.runs.len();
            let at =
                if n > 2 && self.runs[n - 3].len < self.runs[n - 1].len { n - 3 } else { n - 2 };
            self.merge_at(at)?;
        }
        Ok(())
    }

    /// The length of the run that starts here, and whether it is strictly descending.
    fn count_run(&self, low: usize) -> Result<(usize, bool)> {
        let l = &self.list;
        if low + 1 == l.len() {
            return Ok((1, false));
        }
        let mut n = 2;
        let descending = self.less(l[low + 1], l[low])?;
        while low + n < l.len() && self.less(l[low + n], l[low + n - 1])? == descending {
            n += 1;
        }
        Ok((n, descending))
    }

    fn binary_insertion(&mut self, low: usize, high: usize, start: usize) -> Result<()> {
        for at in start..high {
            let pivot = self.list[at];
            let (mut l, mut r) = (low, at);
            while l < r {
                let p = l + ((r - l) >> 1);
                if self.less(pivot, self.list[p])? {
                    r = p;
                } else {
                    l = p + 1;
                }
            }
            self.list[l..=at].rotate_right(1);
        }
        Ok(())
    }

    /// Merges earlier runs whose power is greater than the new boundary's (powersort).
    fn found_new_run(&mut self, start: usize, len: usize) -> Result<()> {
        if let Some(last) = self.runs.last() {
            let power = power(last.start, last.len, len, self.list.len());
            while self.runs.len() > 1 && self.runs[self.runs.len() - 2].power > power {
                self.merge_at(self.runs.len() - 2)?;
            }
            self.runs.last_mut().expect("a run").power = power;
        }
        self.runs.push(Run { start, len, power: 0 });
        Ok(())
    }

    fn merge_at(&mut self, i: usize) -> Result<()> {
        let (a, na) = (self.runs[i].start, self.runs[i].len);
        let (b, nb) = (self.runs[i + 1].start, self.runs[i + 1].len);
        self.runs[i].len = na + nb;
        if i + 3 == self.runs.len() {
            let (start, len) = (self.runs[i + 2].start, self.runs[i + 2].len);
            self.runs[i + 1].start = start;
            self.runs[i + 1].len = len;
            self.runs[i + 1].power = self.runs[i + 2].power;
        }
        self.runs.pop();
        let k = self.gallop_right(self.list[b], a, na, 0)?;
        let (a, na) = (a + k, na - k);
        if na == 0 {
            return Ok(());
        }
        let nb = self.gallop_left(self.list[a + na - 1], b, nb, nb - 1)?;
        if nb == 0 {
            return Ok(());
        }
        if na <= nb { self.merge_low(a, na, b, nb) } else { self.merge_high(a, na, b, nb) }
    }

    /// Where to insert the key before equal elements, looking outwards from `hint`.
    fn gallop_left(&self, key: u32, base: usize, n: usize, hint: usize) -> Result<usize> {
        self.gallop(n, hint, |s, k| s.less(s.list[base + k], key))
    }

    /// Where to insert the key after equal elements.
    fn gallop_right(&self, key: u32, base: usize, n: usize, hint: usize) -> Result<usize> {
        self.gallop_other(n, hint, |s, k| s.less(key, s.list[base + k]))
    }

    /// The first k where `below(k)` is false.
    fn gallop(
        &self,
        n: usize,
        hint: usize,
        below: impl Fn(&Self, usize) -> Result<bool>,
    ) -> Result<usize> {
        let (mut last, mut ofs) = (0isize, 1isize);
        let h = hint as isize;
        if below(self, hint)? {
            let max = n as isize - h;
            while ofs < max && below(self, (h + ofs) as usize)? {
                last = ofs;
                ofs = (ofs << 1) + 1;
            }
            ofs = ofs.min(max);
            last += h;
            ofs += h;
        } else {
            let max = h + 1;
            while ofs < max && !below(self, (h - ofs) as usize)? {
                last = ofs;
                ofs = (ofs << 1) + 1;
            }
            ofs = ofs.min(max);
            (last, ofs) = (h - ofs, h - last);
        }
        last += 1;
        while last < ofs {
            let m = last + ((ofs - last) >> 1);
            if below(self, m as usize)? {
                last = m + 1;
            } else {
                ofs = m;
            }
        }
        Ok(ofs as usize)
    }

    /// The first k where `above(k)` is true.
    fn gallop_other(
        &self,
        n: usize,
        hint: usize,
        above: impl Fn(&Self, usize) -> Result<bool>,
    ) -> Result<usize> {
        self.gallop(n, hint, |s, k| Ok(!above(s, k)?))
    }

    fn merge_low(&mut self, a: usize, na: usize, b: usize, nb: usize) -> Result<()> {
        let temp: Vec<u32> = self.list[a..a + na].to_vec();
        let (mut dest, mut pa, mut pb, mut na, mut nb) = (a, 0, b, na, nb);
        let mut gallop_min = self.min_gallop;
        self.list[dest] = self.list[pb];
        dest += 1;
        pb += 1;
        nb -= 1;
        // The labelled block ends where CPython jumps to `Succeed` or `CopyB`.
        'merge: {
            if nb == 0 {
                break 'merge;
            }
            if na == 1 {
                break 'merge;
            }
            loop {
                let (mut a_count, mut b_count) = (0, 0);
                loop {
                    if self.less(self.list[pb], temp[pa])? {
                        self.list[dest] = self.list[pb];
                        dest += 1;
                        pb += 1;
                        b_count += 1;
                        a_count = 0;
                        nb -= 1;
                        if nb == 0 {
                            break 'merge;
                        }
                        if b_count >= gallop_min {
                            break;
                        }
                    } else {
                        self.list[dest] = temp[pa];
                        dest += 1;
                        pa += 1;
                        a_count += 1;
                        b_count = 0;
                        na -= 1;
                        if na == 1 {
                            break 'merge;
                        }
                        if a_count >= gallop_min {
                            break;
                        }
                    }
                }
                gallop_min += 1;
                loop {
                    gallop_min -= usize::from(gallop_min > 1);
                    self.min_gallop = gallop_min;
                    let key = self.list[pb];
                    let k = self.gallop(na, 0, |s, k| {
                        Ok(!less(&s.keys[key as usize], &s.keys[temp[pa + k] as usize])?)
                    })?;
                    a_count = k;
                    self.list[dest..dest + k].copy_from_slice(&temp[pa..pa + k]);
                    dest += k;
                    pa += k;
                    na -= k;
                    if na == 1 || na == 0 {
                        break 'merge;
                    }
                    self.list[dest] = self.list[pb];
                    dest += 1;
                    pb += 1;
                    nb -= 1;
                    if nb == 0 {
                        break 'merge;
                    }
                    let k = self.gallop_left(temp[pa], pb, nb, 0)?;
                    b_count = k;
                    self.list.copy_within(pb..pb + k, dest);
                    dest += k;
                    pb += k;
                    nb -= k;
                    if nb == 0 {
                        break 'merge;
                    }
                    self.list[dest] = temp[pa];
                    dest += 1;
                    pa += 1;
                    na -= 1;
                    if na == 1 {
                        break 'merge;
                    }
                    if a_count < MIN_GALLOP && b_count < MIN_GALLOP {
                        break;
                    }
                }
                gallop_min += 1;
                self.min_gallop = gallop_min;
            }
        }
        if na == 1 && nb > 0 {
            // The last element of A belongs at the end of the merge.
            self.list.copy_within(pb..pb + nb, dest);
            self.list[dest + nb] = temp[pa];
        } else {
            self.list[dest..dest + na].copy_from_slice(&temp[pa..pa + na]);
        }
        Ok(())
    }

    fn merge_high(&mut self, a: usize, na: usize, b: usize, nb: usize) -> Result<()> {
        let temp: Vec<u32> = self.list[b..b + nb].to_vec();
        let (mut na, mut nb) = (na, nb);
        let mut gallop_min = self.min_gallop;
        // One past the next place to write; the rest of A ends at a + na, the rest of B at nb.
        let mut dest = b + nb;
        dest -= 1;
        self.list[dest] = self.list[a + na - 1];
        na -= 1;
        'merge: {
            if na == 0 {
                break 'merge;
            }
            if nb == 1 {
                break 'merge;
            }
            loop {
                let (mut a_count, mut b_count) = (0, 0);
                loop {
                    dest -= 1;
                    if self.less(temp[nb - 1], self.list[a + na - 1])? {
                        self.list[dest] = self.list[a + na - 1];
                        a_count += 1;
                        b_count = 0;
                        na -= 1;
                        if na == 0 {
                            break 'merge;
                        }
                        if a_count >= gallop_min {
                            break;
                        }
                    } else {
                        self.list[dest] = temp[nb - 1];
                        b_count += 1;
                        a_count = 0;
                        nb -= 1;
                        if nb == 1 {
                            break 'merge;
                        }
                        if b_count >= gallop_min {
                            break;
                        }
                    }
                }
                gallop_min += 1;
                loop {
                    gallop_min -= usize::from(gallop_min > 1);
                    self.min_gallop = gallop_min;
                    let k = na - self.gallop_right(temp[nb - 1], a, na, na - 1)?;
                    a_count = k;
                    self.list.copy_within(a + na - k..a + na, dest - k);
                    dest -= k;
                    na -= k;
                    if na == 0 {
                        break 'merge;
                    }
                    dest -= 1;
                    self.list[dest] = temp[nb - 1];
                    nb -= 1;
                    if nb == 1 {
                        break 'merge;
                    }
                    let key = self.list[a + na - 1];
                    let k = nb
                        - self.gallop(nb, nb - 1, |s, k| {
                            less(&s.keys[temp[k] as usize], &s.keys[key as usize])
                        })?;
                    b_count = k;
                    self.list[dest - k..dest].copy_from_slice(&temp[nb - k..nb]);
                    dest -= k;
                    nb -= k;
                    if nb == 1 || nb == 0 {
                        break 'merge;
                    }
                    dest -= 1;
                    self.list[dest] = self.list[a + na - 1];
                    na -= 1;
                    if na == 0 {
                        break 'merge;
                    }
                    if a_count < MIN_GALLOP && b_count < MIN_GALLOP {
                        break;
                    }
                }
                gallop_min += 1;
                self.min_gallop = gallop_min;
            }
        }
        if nb == 1 && na > 0 {
            // The first element of B belongs at the front of the merge.
            self.list.copy_within(a..a + na, dest - na);
            self.list[dest - na - 1] = temp[0];
        } else {
            self.list[dest - nb..dest].copy_from_slice(&temp[..nb]);
        }
        Ok(())
    }
}

/// Runs shorter than this are extended by insertion.
fn min_run(mut n: usize) -> usize {
    let mut r = 0;
    while n >= 64 {
        r |= n & 1;
        n >>= 1;
    }
    n + r
}

/// The power of the boundary between two adjacent runs.
fn power(start: usize, n1: usize, n2: usize, n: usize) -> u32 {
    let mut result = 0;
    let mut a = 2 * start + n1;
    let mut b = a + n1 + n2;
    loop {
        result += 1;
        if a >= n {
            a -= n;
            b -= n;
        } else if b >= n {
            return result;
        }
        a <<= 1;
        b <<= 1;
    }
}
