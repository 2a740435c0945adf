//! The tasks of a Markdown plan, with their boxes and their places in the text.
//!
//! A plan with task headings has one task for each of them, and the boxes below it are its steps.
//! Without them, each box that is not inside another is a task.

use super::lines::{self, Checkbox, Line, LineKind};
use super::words::{self, PlanSection};

/// A Markdown plan.
#[derive(Debug, Default)]
pub(super) struct Outline<'a> {
    /// The first heading of the first level.
    pub(super) title: &'a str,
    /// The lines of the section that tells what the plan is about.
    pub(super) overview: Vec<&'a str>,
    pub(super) tasks: Vec<OutlineTask<'a>>,
    /// What stands below a heading of commands.
    pub(super) commands: Vec<Part<'a>>,
    /// Conditions for the plan as a whole.
    pub(super) acceptance: Vec<(usize, &'a str)>,
    /// Boxes that are no tasks.
    pub(super) others: Vec<OtherBox<'a>>,
    /// The headings of commands, each with its line.
    pub(super) command_headings: Vec<(usize, &'a str)>,
}

#[derive(Debug, Default)]
pub(super) struct OutlineTask<'a> {
    pub(super) line: usize,
    /// The heading above it; empty if it is a heading.
    pub(super) section: &'a str,
    /// Its heading or the text of its box, as written.
    pub(super) title: &'a str,
    /// The number in its heading.
    pub(super) label: Option<&'a str>,
    /// Its own box first, if it has one.
    pub(super) boxes: Vec<TaskBox<'a>>,
    pub(super) has_own_box: bool,
    /// Conditions, commands and details, as written.
    pub(super) parts: Vec<(PlanSection, Part<'a>)>,
    /// The section that it stands in: optional work is no work.
    pub(super) within: Option<PlanSection>,
    pub(super) urgency: u32,
}

#[derive(Debug, Clone)]
pub(super) struct TaskBox<'a> {
    pub(super) text: &'a str,
    pub(super) checkbox: Checkbox,
}

#[derive(Debug, Clone)]
pub(super) enum Part<'a> {
    Item(usize, &'a str),
    Code(Vec<(usize, &'a str)>),
    Text(&'a str),
}

/// A box that is not a task.
#[derive(Debug)]
pub(super) struct OtherBox<'a> {
    pub(super) line: usize,
    pub(super) text: &'a str,
    pub(super) within: PlanSection,
}

impl OutlineTask<'_> {
    /// True if its own box, or each of its boxes, is ticked.
    pub(super) fn is_ticked(&self) -> bool {
        match (self.has_own_box, self.boxes.as_slice()) {
            (true, [own, ..]) => own.checkbox.is_ticked,
            (_, boxes) => !boxes.is_empty() && boxes.iter().all(|one| one.checkbox.is_ticked),
        }
    }
}

/// True if the document has a task in the form of another tool.
pub(super) fn has_tasks(document: &str) -> bool {
    lines::split(document).iter().any(|line| match &line.kind {
        LineKind::Heading { text, checkbox, .. } => {
            checkbox.is_some() || words::task_heading(text).is_some()
        }
        LineKind::Item { checkbox, .. } => checkbox.is_some(),
        _ => false,
    })
}

/// Reads a document.
pub(super) fn read(document: &str) -> Outline<'_> {
    let lines = lines::split(document);
    let has_headings = lines.iter().any(|line| match &line.kind {
        LineKind::Heading { text, checkbox, .. } => {
            checkbox.is_some() || words::task_heading(text).is_some()
        }
        _ => false,
    });
    let mut builder = OutlineBuilder { has_headings, ..OutlineBuilder::default() };
    for line in lines {
        builder.line(line);
    }
    builder.close();
    builder.outline
}

#[derive(Default)]
struct OutlineBuilder<'a> {
    outline: Outline<'a>,
    has_headings: bool,
    /// The headings above this line, each with its level.
    above: Vec<(usize, &'a str, PlanSection)>,
    task: Option<OutlineTask<'a>>,
    /// The level of the open task's heading; 0 for a task that is an item.
    level: usize,
    /// The column of the open task's bullet.
    indent: usize,
    /// What a label inside the open task announced.
    label: Option<PlanSection>,
    urgency: u32,
    is_after_overview: bool,
}

impl<'a> OutlineBuilder<'a> {
    fn line(&mut self, line: Line<'a>) {
        let number = line.number;
        match line.kind {
            LineKind::Heading { level, text, checkbox } => {
                self.heading(number, level, text, checkbox)
            }
            LineKind::Item { indent, text, checkbox: Some(checkbox) } => {
                self.a_box(number, indent, TaskBox { text, checkbox });
            }
            LineKind::Item { indent, text, checkbox: None } => self.item(number, indent, text),
            LineKind::Code { lines, language } => self.code(language, lines),
            LineKind::Text(text) => self.text(text),
        }
    }

    /// The innermost section above this line that says what it is for.
    fn within(&self) -> PlanSection {
        let known = self.above.iter().rev().map(|above| above.2);
        known
            .into_iter()
            .find(|section| *section != PlanSection::Other)
            .unwrap_or(PlanSection::Other)
    }

    fn close(&mut self) {
        self.label = None;
        if let Some(task) = self.task.take() {
            self.outline.tasks.push(task);
        }
    }

    fn heading(&mut self, line: usize, level: usize, text: &'a str, checkbox: Option<Checkbox>) {
        self.is_after_overview = false;
        let label = words::task_heading(text);
        if label.is_some() || checkbox.is_some() {
            self.close();
            self.above.retain(|above| above.0 < level);
            let boxes = checkbox.map(|checkbox| TaskBox { text, checkbox });
            self.task = Some(OutlineTask {
                line,
                title: text,
                label: label.map(|(label, _)| label),
                has_own_box: boxes.is_some(),
                boxes: boxes.into_iter().collect(),
                within: Some(self.within()),
                urgency: self.urgency,
                ..OutlineTask::default()
            });
            self.level = level;
            return;
        }
        let section = PlanSection::of(text);
        let is_inside = self.level > 0
            && self.task.is_some()
            && (level > self.level || level == self.level && section == PlanSection::Other);
        if is_inside {
            self.label = Some(section);
            return;
        }
        self.close();
        if level == 1 && self.outline.title.is_empty() {
            self.outline.title = text;
        }
        self.above.retain(|above| above.0 < level);
        self.above.push((level, text, section));
        // A section that does not say how urgent it is stays where it is.
        self.urgency = words::urgency(text).unwrap_or(self.urgency);
        if section == PlanSection::Commands {
            self.outline.command_headings.push((line, text));
        }
    }

    fn a_box(&mut self, line: usize, indent: usize, one: TaskBox<'a>) {
        if let Some(task) = self.task.as_mut()
            && (self.level > 0 || indent > self.indent)
        {
            task.boxes.push(one);
            return;
        }
        self.close();
        let within = self.within();
        match within {
            PlanSection::Commands => self.outline.commands.push(Part::Item(line, one.text)),
            PlanSection::Acceptance => self.outline.acceptance.push((line, one.text)),
            _ if self.has_headings => {
                self.outline.others.push(OtherBox { line, text: one.text, within });
            }
            _ => {
                (self.level, self.indent) = (0, indent);
                self.task = Some(OutlineTask {
                    line,
                    section: self.above.last().map_or("", |above| above.1),
                    title: one.text,
                    boxes: vec![one],
                    has_own_box: true,
                    within: Some(within),
                    urgency: self.urgency,
                    ..OutlineTask::default()
                });
            }
        }
    }

    fn item(&mut self, line: usize, indent: usize, text: &'a str) {
        if let Some(task) = self.task.as_mut()
            && (self.level > 0 || indent > self.indent)
        {
            let section = self.label.unwrap_or(PlanSection::Other);
            task.parts.push((section, Part::Item(line, text)));
            return;
        }
        if self.level == 0 {
            self.close();
        }
        match self.within() {
            PlanSection::Commands => self.outline.commands.push(Part::Item(line, text)),
            PlanSection::Acceptance => self.outline.acceptance.push((line, text)),
            PlanSection::Overview => self.outline.overview.push(text),
            _ => {}
        }
    }

    fn code(&mut self, language: &str, lines: Vec<(usize, &'a str)>) {
        let is_shell = matches!(
            language.split_whitespace().next().unwrap_or_default().to_ascii_lowercase().as_str(),
            "" | "sh" | "bash" | "shell" | "zsh" | "console" | "text"
        );
        let section = if self.task.is_some() { self.label } else { Some(self.within()) };
        if section != Some(PlanSection::Commands) || !is_shell {
            return;
        }
        match self.task.as_mut() {
            Some(task) => task.parts.push((PlanSection::Commands, Part::Code(lines))),
            None => self.outline.commands.push(Part::Code(lines)),
        }
    }

    fn text(&mut self, text: &'a str) {
        if self.level == 0 && !text.is_empty() && !text.starts_with([' ', '\t']) {
            self.close();
        }
        if let Some(task) = self.task.as_mut() {
            let (label, rest) = label_of(text);
            if let Some(section) = label {
                self.label = Some(section);
                if !rest.is_empty() {
                    task.parts.push((section, Part::Text(rest)));
                }
            } else if !text.trim().is_empty() {
                task.parts.push((PlanSection::Other, Part::Text(text.trim())));
            }
            return;
        }
        let text = text.trim();
        if self.within() == PlanSection::Overview && !self.is_after_overview {
            match text {
                "" => self.is_after_overview = !self.outline.overview.is_empty(),
                text => self.outline.overview.push(text),
            }
        }
    }
}

/// The section that a label inside a task announces, and the text after it: `**Files:** a, b`.
fn label_of(text: &str) -> (Option<PlanSection>, &str) {
    let text = text.trim();
    let Some((label, rest)) = text.split_once(':') else { return (None, "") };
    let rest = rest.trim_matches(['*', '_', ' ']);
    match PlanSection::of(label) {
        PlanSection::Other => (text.starts_with("**").then_some(PlanSection::Other), text),
        section => (Some(section), rest),
    }
}
