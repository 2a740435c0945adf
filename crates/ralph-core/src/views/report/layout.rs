//! Where the tasks of a graph are drawn: a column for each wave, arrows from left to right.
//!
//! What an arrow says that others say already is left out (after `a` and `b`, where `b` is after `a`). An arrow
//! that passes a column takes a place in it, so that it goes around the tasks and not through them.

use super::TaskShown;

/// More than this nobody can look at; a set of them fits into one number.
pub const MOST_DRAWN: usize = 120;

/// Width of a task.
pub const WIDTH: i32 = 200;
/// Height of a task.
pub const HEIGHT: i32 = 60;
/// Between two columns.
const BETWEEN: i32 = 56;
/// Between two tasks of a column.
const GAP: i32 = 16;
/// Height of an arrow that passes.
const THIN: i32 = 8;
/// Above the columns, for their names.
pub const TOP: i32 = 28;
/// Around all, so that no border is cut.
const MARGIN: i32 = 4;

/// A graph with its places.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GraphDrawing {
    /// Width of all.
    pub width: i32,
    /// Height of all.
    pub height: i32,
    /// Left side and name of each column.
    pub columns: Vec<(i32, String)>,
    /// Left upper corner of each task, in the order of the list.
    pub tasks: Vec<(i32, i32)>,
    /// The arrows.
    pub arrows: Vec<Arrow>,
}

/// From a task to one that depends on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrow {
    /// The place of the one that comes first.
    pub from: usize,
    /// The place of the one that depends on it.
    pub to: usize,
    /// Points by turns: where a curve begins, and where it ends. From an end to the next beginning it is a line.
    pub points: Vec<(i32, i32)>,
}

/// A task, or an arrow that passes its column.
#[derive(Debug, Clone)]
struct Slot {
    column: usize,
    height: i32,
    before: Vec<usize>,
    after: Vec<usize>,
    y: i32,
}

/// Lays the tasks out; none where there is none, or too many.
pub fn drawing(tasks: &[TaskShown]) -> Option<GraphDrawing> {
    if tasks.is_empty() || tasks.len() > MOST_DRAWN {
        return None;
    }
    let n_waves = tasks.iter().filter_map(|task| task.wave).max().unwrap_or_default();
    let column_of = |task: &TaskShown| task.wave.map_or(n_waves, |wave| wave - 1);
    let mut slots: Vec<Slot> =
        tasks.iter().map(|task| Slot::new(column_of(task), HEIGHT)).collect();
    let chains: Vec<Vec<usize>> = reduced(tasks, column_of)
        .into_iter()
        .map(|(from, to)| chain(&mut slots, from, to))
        .collect();
    let n_columns = slots.iter().map(|slot| slot.column + 1).max().unwrap_or_default();
    let mut columns: Vec<Vec<usize>> = vec![Vec::new(); n_columns];
    slots.iter().enumerate().for_each(|(at, slot)| columns[slot.column].push(at));
    order(&mut columns, &slots);
    place(&columns, &mut slots);
    let x = |column: usize| MARGIN + column as i32 * (WIDTH + BETWEEN);
    let arrows = chains.iter().map(|chain| Arrow {
        from: chain.first().copied().unwrap_or_default(),
        to: chain.last().copied().unwrap_or_default(),
        points: points(chain, &slots, x),
    });
    let name = |column: usize| match column == n_waves {
        true => "in no wave".to_owned(),
        false => format!("wave {}", column + 1),
    };
    let bottom = slots.iter().map(|slot| slot.y + slot.height).max().unwrap_or_default();
    Some(GraphDrawing {
        width: x(n_columns) - BETWEEN + MARGIN,
        height: bottom + MARGIN,
        columns: (0..n_columns).map(|column| (x(column), name(column))).collect(),
        arrows: arrows.collect(),
        tasks: slots[..tasks.len()].iter().map(|slot| (x(slot.column), slot.y)).collect(),
    })
}

impl Slot {
    fn new(column: usize, height: i32) -> Slot {
        Slot { column, height, before: Vec::new(), after: Vec::new(), y: 0 }
    }
}

/// What depends on what, from column to column, without what follows from others.
fn reduced(tasks: &[TaskShown], column_of: impl Fn(&TaskShown) -> usize) -> Vec<(usize, usize)> {
    let mut in_order: Vec<usize> = (0..tasks.len()).collect();
    in_order.sort_by_key(|at| column_of(&tasks[*at]));
    let mut behind = vec![0_u128; tasks.len()];
    let mut kept = Vec::new();
    for to in in_order {
        let mut after: Vec<usize> = tasks[to].after.clone();
        after.retain(|from| {
            tasks.get(*from).is_some_and(|task| column_of(task) < column_of(&tasks[to]))
        });
        after.sort_unstable();
        after.dedup();
        let by_others = after.iter().fold(0, |all, from| all | behind[*from]);
        let own = after.iter().fold(0, |all, from| all | 1 << from);
        behind[to] = by_others | own;
        let needed = after.into_iter().filter(|from| by_others & (1 << from) == 0);
        kept.extend(needed.map(|from| (from, to)));
    }
    kept
}

/// A slot in each column between the two, each joined to the next.
fn chain(slots: &mut Vec<Slot>, from: usize, to: usize) -> Vec<usize> {
    let mut chain = vec![from];
    for column in slots[from].column + 1..slots[to].column {
        slots.push(Slot::new(column, THIN));
        chain.push(slots.len() - 1);
    }
    chain.push(to);
    for pair in chain.windows(2) {
        slots[pair[0]].after.push(pair[1]);
        slots[pair[1]].before.push(pair[0]);
    }
    chain
}

/// Orders each column so that few arrows cross: each slot goes where its neighbours are on average, and then
/// changes places with the next one as long as that helps.
fn order(columns: &mut [Vec<usize>], slots: &[Slot]) {
    let mut rank = vec![0_usize; slots.len()];
    columns.iter().for_each(|column| note(column, &mut rank));
    for round in 0..6 {
        let forward = round % 2 == 0;
        for step in 0..columns.len() {
            let at = if forward { step } else { columns.len() - 1 - step };
            let wish = |slot: &usize| {
                let of = &slots[*slot];
                let neighbours = if forward { &of.before } else { &of.after };
                match neighbours.len() {
                    // Thousandths, so that an average is a whole number.
                    0 => rank[*slot] * 1_000,
                    n => neighbours.iter().map(|one| rank[*one] * 1_000).sum::<usize>() / n,
                }
            };
            let mut wishes: Vec<(usize, usize)> =
                columns[at].iter().map(|slot| (wish(slot), *slot)).collect();
            wishes.sort_by_key(|(wish, _)| *wish);
            columns[at] = wishes.into_iter().map(|(_, slot)| slot).collect();
            note(&columns[at], &mut rank);
        }
    }
    for _ in 0..8 {
        columns.iter_mut().for_each(|column| swap(column, slots, &mut rank));
    }
}

fn note(column: &[usize], rank: &mut [usize]) {
    column.iter().enumerate().for_each(|(at, slot)| rank[*slot] = at);
}

fn swap(column: &mut [usize], slots: &[Slot], rank: &mut [usize]) {
    for at in 1..column.len() {
        let [upper, lower] = [&slots[column[at - 1]], &slots[column[at]]];
        let crossed = |above: &Slot, below: &Slot| {
            crossings(&above.before, &below.before, rank)
                + crossings(&above.after, &below.after, rank)
        };
        if crossed(lower, upper) < crossed(upper, lower) {
            column.swap(at - 1, at);
            note(column, rank);
        }
    }
}

/// How many arrows cross where one slot stands above another.
fn crossings(above: &[usize], below: &[usize], rank: &[usize]) -> usize {
    above.iter().map(|one| below.iter().filter(|other| rank[**other] < rank[*one]).count()).sum()
}

/// Gives each slot its height on the page: as near to its neighbours as those above and below it let.
fn place(columns: &[Vec<usize>], slots: &mut [Slot]) {
    for column in columns {
        let mut y = 0;
        for slot in column {
            slots[*slot].y = y;
            y += slots[*slot].height + GAP;
        }
    }
    for round in 0..4 {
        let forward = round % 2 == 0;
        for step in 0..columns.len() {
            let at = if forward { step } else { columns.len() - 1 - step };
            settle(&columns[at], slots, forward);
        }
    }
    let top = slots.iter().map(|slot| slot.y).min().unwrap_or_default();
    slots.iter_mut().for_each(|slot| slot.y += TOP - top);
}

fn settle(column: &[usize], slots: &mut [Slot], forward: bool) {
    let middle = |slot: &Slot| slot.y + slot.height / 2;
    let wishes: Vec<i32> = column
        .iter()
        .map(|at| {
            let slot = &slots[*at];
            let neighbours = if forward { &slot.before } else { &slot.after };
            match i32::try_from(neighbours.len()) {
                Ok(0) | Err(_) => slot.y,
                Ok(n) => {
                    let sum: i32 = neighbours.iter().map(|one| middle(&slots[*one])).sum();
                    sum / n - slot.height / 2
                }
            }
        })
        .collect();
    // Pushed down from above, and pushed up from below; in the middle between both there is room too.
    let mut down = wishes.clone();
    for at in 1..column.len() {
        down[at] = down[at].max(down[at - 1] + slots[column[at - 1]].height + GAP);
    }
    let mut up = wishes;
    for at in (0..column.len().saturating_sub(1)).rev() {
        up[at] = up[at].min(up[at + 1] - slots[column[at]].height - GAP);
    }
    for (at, slot) in column.iter().enumerate() {
        slots[*slot].y = (down[at] + up[at]).div_euclid(2);
    }
}

fn points(chain: &[usize], slots: &[Slot], x: impl Fn(usize) -> i32) -> Vec<(i32, i32)> {
    let mut points = Vec::new();
    for pair in chain.windows(2) {
        let [from, to] = [&slots[pair[0]], &slots[pair[1]]];
        points.push((x(from.column) + WIDTH, from.y + from.height / 2));
        points.push((x(to.column), to.y + to.height / 2));
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tasks::graph::TaskReadiness;

    /// `b after a`: the waves are those that follow from it.
    fn tasks(of: &[(&str, &[usize], Option<usize>)]) -> Vec<TaskShown> {
        let task = |(id, after, wave): &(&str, &[usize], Option<usize>)| TaskShown {
            id: (*id).to_owned(),
            name: String::new(),
            standing: TaskReadiness::Ready,
            wave: *wave,
            after: after.to_vec(),
            remark: String::new(),
        };
        of.iter().map(task).collect()
    }

    fn check_apart(drawing: &GraphDrawing) {
        for (at, a) in drawing.tasks.iter().enumerate() {
            for b in &drawing.tasks[at + 1..] {
                let apart = (a.0 - b.0).abs() >= WIDTH || (a.1 - b.1).abs() >= HEIGHT;
                assert!(apart, "{a:?} and {b:?} lie on each other");
            }
            assert!(a.0 >= 0 && a.1 >= TOP && a.0 + WIDTH <= drawing.width, "{a:?}");
            assert!(a.1 + HEIGHT <= drawing.height, "{a:?} of {}", drawing.height);
        }
    }

    #[test]
    fn what_follows_from_other_arrows_is_left_out() {
        let all = tasks(&[("a", &[], Some(1)), ("b", &[0], Some(2)), ("c", &[0, 1], Some(3))]);
        let drawing = drawing(&all).unwrap();
        let arrows: Vec<_> = drawing.arrows.iter().map(|one| (one.from, one.to)).collect();
        assert_eq!(arrows, [(0, 1), (1, 2)]);
        assert_eq!(drawing.columns.len(), 3);
        check_apart(&drawing);
    }

    #[test]
    fn an_arrow_goes_around_the_tasks_that_it_passes() {
        let all = tasks(&[
            ("a", &[], Some(1)),
            ("b", &[], Some(1)),
            ("c", &[1], Some(2)),
            ("d", &[0, 2], Some(3)),
        ]);
        let drawing = drawing(&all).unwrap();
        check_apart(&drawing);
        let long = drawing.arrows.iter().find(|one| (one.from, one.to) == (0, 3)).unwrap();
        assert_eq!(long.points.len(), 4, "it has a place in the column between");
        let (_, y) = long.points[1];
        let (_, top) = drawing.tasks[2];
        assert!(y < top || y > top + HEIGHT, "{y} is within {top}");
    }

    #[test]
    fn what_is_in_no_wave_stands_at_the_end_and_points_nowhere_back() {
        let all = tasks(&[("a", &[], Some(1)), ("b", &[2], None), ("c", &[0, 1], None)]);
        let drawing = drawing(&all).unwrap();
        assert_eq!(drawing.columns[1].1, "in no wave");
        let arrows: Vec<_> = drawing.arrows.iter().map(|one| (one.from, one.to)).collect();
        assert_eq!(arrows, [(0, 2)]);
        check_apart(&drawing);
    }

    /// Any graph of the largest size: in time, and with every task in sight.
    #[test]
    fn the_largest_graphs_are_laid_out() {
        let mut seed = 7_u64;
        let mut random = |below: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) as usize % below
        };
        for waves in [1, 2, 12, MOST_DRAWN] {
            let mut all = Vec::new();
            for at in 0..MOST_DRAWN {
                let wave = 1 + at * waves / MOST_DRAWN;
                let earlier = (0..at).filter(|one| 1 + one * waves / MOST_DRAWN < wave);
                let after: Vec<usize> = earlier.filter(|_| random(4) == 0).collect();
                all.push(TaskShown { after, ..tasks(&[("x", &[], Some(wave))]).remove(0) });
            }
            check_apart(&drawing(&all).unwrap());
        }
        let one_more = vec![tasks(&[("x", &[], Some(1))]).remove(0); MOST_DRAWN + 1];
        assert_eq!(drawing(&one_more), None);
        assert_eq!(drawing(&[]), None);
    }
}
