//! The tasks on the page: drawn, or counted by waves where there are too many, and always as a list.

use super::glyph::{self, Glyph};
use super::{bar, tone_of_task, wide};
use crate::tasks::graph::TaskReadiness;
use crate::text::plural::noun;
use crate::views::report::layout::{Arrow, GraphDrawing, HEIGHT, TOP, WIDTH, drawing};
use crate::views::report::markup::Markup;
use crate::views::report::words::{counted, grouped, share};
use crate::views::report::{Report, TaskShown};
use std::collections::BTreeMap;
use std::fmt::Write as _;

const ALL: [TaskReadiness; 7] = [
    TaskReadiness::Done,
    TaskReadiness::InProgress,
    TaskReadiness::Ready,
    TaskReadiness::Waiting,
    TaskReadiness::Blocked,
    TaskReadiness::Failed,
    TaskReadiness::Unknown,
];

/// How many stand where.
pub(in crate::views::report) fn summary(report: &Report) -> String {
    let told = ALL.iter().filter_map(|standing| {
        let n = report.tasks.iter().filter(|task| task.standing == *standing).count();
        (n > 0).then(|| format!("{} {}", grouped(n as u64), standing.word()))
    });
    told.collect::<Vec<_>>().join(", ")
}

/// All of it.
pub(super) fn tasks(card: &mut Markup, report: &Report) {
    match drawing(&report.tasks) {
        Some(drawing) => {
            wide(card, "The tasks, and what depends on what", |wide| draw(wide, report, &drawing));
            key(card, report);
        }
        None => waves(card, report),
    }
    card.within("details", &[], |details| {
        details.put("summary", "", "As a list");
        details.within("ul", &[("class", "list")], |list| {
            report
                .tasks
                .iter()
                .for_each(|task| list.within("li", &[], |item| listed(item, task, report)));
            if report.n_tasks_left_out > 0 {
                list.put(
                    "li",
                    "more",
                    &format!("and {} more", grouped(report.n_tasks_left_out as u64)),
                );
            }
        });
    });
}

fn draw(to: &mut Markup, report: &Report, drawing: &GraphDrawing) {
    let [width, height] = [drawing.width, drawing.height].map(|number| number.to_string());
    let view = format!("0 0 {width} {height}");
    let attributes = [
        ("class", "graph"),
        ("width", width.as_str()),
        ("height", &height),
        ("viewBox", &view),
        ("role", "img"),
        ("aria-label", "The tasks as a graph; the list below says the same"),
    ];
    to.within("svg", &attributes, |svg| {
        for (x, name) in &drawing.columns {
            let [x, y] = [*x, TOP - 14].map(|number| number.to_string());
            svg.within("text", &[("class", "column"), ("x", &x), ("y", &y)], |text| {
                text.words(name)
            });
        }
        for arrow in &drawing.arrows {
            let is_done = report
                .tasks
                .get(arrow.from)
                .is_some_and(|task| task.standing == TaskReadiness::Done);
            let class = if is_done { "arrow done" } else { "arrow" };
            svg.within(
                "path",
                &[("class", class), ("d", &path(arrow)), ("marker-end", "url(#tip)")],
                |_| {},
            );
        }
        report.tasks.iter().zip(&drawing.tasks).for_each(|(task, at)| node(svg, task, *at));
    });
}

fn path(arrow: &Arrow) -> String {
    let mut path = String::new();
    for (at, pair) in arrow.points.chunks_exact(2).enumerate() {
        let [(x0, y0), (x1, y1)] = [pair[0], pair[1]];
        let middle = (x0 + x1) / 2;
        let begin = if at == 0 { 'M' } else { 'L' };
        // Writing to a string cannot fail.
        let _ = write!(path, "{begin}{x0} {y0}C{middle} {y0} {middle} {y1} {x1} {y1}");
    }
    path
}

fn node(svg: &mut Markup, task: &TaskShown, (x, y): (i32, i32)) {
    let waits = if task.standing == TaskReadiness::Waiting { " waiting" } else { "" };
    let class = format!("node {}{waits}", tone_of_task(task.standing).word());
    let [left, top, width, height] = [x, y, WIDTH, HEIGHT].map(|number| number.to_string());
    let place = [("x", left.as_str()), ("y", &top), ("width", &width), ("height", &height)];
    svg.within("g", &[("class", &class)], |node| {
        let rounded: Vec<_> = place.into_iter().chain([("class", "box"), ("rx", "9")]).collect();
        node.within("rect", &rounded, |_| {});
        glyph::put_at(node, Glyph::of_task(task.standing), (x + 11, y + (HEIGHT - 16) / 2));
        node.within("foreignObject", &place, |inside| {
            inside.within("div", &[("class", "task")], |text| {
                text.put("div", "id", &format!("{} · {}", task.id, task.standing.word()));
                text.put("div", "said", &task.name);
            });
        });
    });
}

fn key(card: &mut Markup, report: &Report) {
    card.within("p", &[("class", "key")], |key| {
        for standing in
            ALL.into_iter().filter(|one| report.tasks.iter().any(|task| task.standing == *one))
        {
            key.within("span", &[], |span| {
                glyph::put(span, Glyph::of_task(standing), tone_of_task(standing));
                span.words(standing.word());
            });
        }
    });
}

/// Too many to be drawn: how far each wave is.
fn waves(card: &mut Markup, report: &Report) {
    let mut waves: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
    for task in &report.tasks {
        let counts = waves.entry(task.wave.unwrap_or(usize::MAX)).or_default();
        counts.0 += usize::from(task.standing == TaskReadiness::Done);
        counts.1 += 1;
    }
    card.put("p", "hint", "Too many to be drawn; this is how far each wave is.");
    card.within("ul", &[("class", "waves")], |list| {
        for (wave, (done, all)) in waves.iter().take(40) {
            list.within("li", &[("class", "good")], |item| {
                let name = if *wave == usize::MAX {
                    "in no wave".to_owned()
                } else {
                    format!("wave {wave}")
                };
                item.put("span", "name", &name);
                item.within("div", &[], |to| {
                    let all_tasks = counted(*all, "task", "tasks");
                    to.words(&format!("{} of {all_tasks} done", grouped(*done as u64)));
                    bar(to, share(*done as u64, *all as u64));
                });
            });
        }
        if waves.len() > 40 {
            list.put(
                "li",
                "more",
                &format!(
                    "and {} more {}",
                    grouped((waves.len() - 40) as u64),
                    noun(waves.len() - 40, "wave", "waves")
                ),
            );
        }
    });
}

fn listed(item: &mut Markup, task: &TaskShown, report: &Report) {
    item.put("span", "id", &task.id);
    item.within("span", &[], |said| {
        glyph::put(said, Glyph::of_task(task.standing), tone_of_task(task.standing));
        said.words(&format!(" {} ({})", task.name, task.standing.word()));
        let after: Vec<&str> =
            task.after.iter().filter_map(|at| Some(report.tasks.get(*at)?.id.as_str())).collect();
        let after =
            if after.is_empty() { String::new() } else { format!("after {}", after.join(", ")) };
        for more in [&after, &task.remark].into_iter().filter(|more| !more.is_empty()) {
            said.put("div", "more", more);
        }
    });
}
