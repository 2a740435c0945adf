//! Ticks the tasks of a plan's file that are done, and changes no other byte.
//!
//! A task is found by its words, wherever the lines went. Where two places could be meant, nothing
//! is ticked: a box that stays open is seen, a wrong one is believed.

use super::markdown::{self, BoxedTask};
use super::prd;
use crate::state::{PlanFile, PlanFormat, PlannedTask};

/// The result of ticking.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ticks {
    /// The new text; `None` if nothing is left to tick.
    pub text: Option<String>,
    /// Ids of done tasks that the text does not name any more, or not clearly.
    pub lost: Vec<String>,
}

/// Ticks every task of the plan that is done.
pub fn tick(text: &str, plan: &PlanFile, is_done: impl Fn(&str) -> bool) -> Ticks {
    let done: Vec<&PlannedTask> = plan.tasks.iter().filter(|one| is_done(&one.task)).collect();
    match plan.format {
        PlanFormat::Markdown | PlanFormat::FixPlan | PlanFormat::Ralplan => {
            boxes(text, plan, &done)
        }
        PlanFormat::Prd => stories(text, &done),
        PlanFormat::Other(_) => Ticks::default(),
    }
}

fn boxes(text: &str, plan: &PlanFile, done: &[&PlannedTask]) -> Ticks {
    let document = markdown::read(text);
    let mut ticks = Ticks::default();
    let mut offsets = Vec::new();
    for planned in done {
        match find(&document.tasks, plan, planned) {
            Some(found) => offsets.extend(open_boxes(found, planned)),
            None => ticks.lost.push(planned.task.clone()),
        }
    }
    if !offsets.is_empty() {
        let mut bytes = text.as_bytes().to_vec();
        // A box is open if it holds a space, so the length stays.
        offsets.into_iter().for_each(|offset: usize| bytes[offset] = b'x');
        ticks.text = String::from_utf8(bytes).ok();
    }
    ticks
}

/// The task in the text: the only one of its title, or of its title and section, or the same one of
/// several that are all still there.
fn find<'o, 'a>(
    tasks: &'o [BoxedTask<'a>],
    plan: &PlanFile,
    planned: &PlannedTask,
) -> Option<&'o BoxedTask<'a>> {
    let titled: Vec<_> = tasks.iter().filter(|one| one.title == planned.title).collect();
    let alike = plan.tasks.iter().filter(|one| one.title == planned.title);
    if let ([only], 1) = (titled.as_slice(), alike.count()) {
        return Some(only);
    }
    let same: Vec<_> = titled.into_iter().filter(|one| one.section == planned.section).collect();
    let alike = plan.tasks.iter().filter(|one| {
        (one.title.as_str(), one.section.as_str()) == (&planned.title, &planned.section)
    });
    let alike: Vec<&PlannedTask> = alike.collect();
    let at = alike.iter().position(|one| one.task == planned.task)?;
    (same.len() == alike.len()).then(|| same[at])
}

/// The open boxes that the task had when its plan was read. The model did not mark
/// a step that was added since, and of two equal steps it is unknown which is the old one.
fn open_boxes(found: &BoxedTask<'_>, planned: &PlannedTask) -> Vec<usize> {
    let known = |text: &str| planned.boxes.iter().filter(|one| *one == text).count();
    let there = |text: &str| found.boxes.iter().filter(|one| one.text == text).count();
    let open = found.boxes.iter().filter(|one| !one.checkbox.is_ticked);
    open.filter(|one| (1..=known(one.text)).contains(&there(one.text)))
        .map(|one| one.checkbox.offset)
        .collect()
}

fn stories(text: &str, done: &[&PlannedTask]) -> Ticks {
    let mut ticks = Ticks::default();
    let Ok(stories) = prd::stories(text) else {
        ticks.lost = done.iter().map(|one| one.task.clone()).collect();
        return ticks;
    };
    let mut places = Vec::new();
    for planned in done {
        let mut same: Vec<_> = stories.iter().filter(|one| one.id() == planned.task).collect();
        if same.len() != 1 {
            same = stories.iter().filter(|one| one.title() == planned.title).collect();
        }
        match same.as_slice() {
            [one] => match &one.passes {
                Some(("false", place)) => places.push(place.clone()),
                Some(("true", _)) => {}
                _ => ticks.lost.push(planned.task.clone()),
            },
            _ => ticks.lost.push(planned.task.clone()),
        }
    }
    if !places.is_empty() {
        places.sort_by_key(|place| place.start);
        let mut new = text.to_owned();
        places.into_iter().rev().for_each(|place| new.replace_range(place, "true"));
        ticks.text = Some(new);
    }
    ticks
}
