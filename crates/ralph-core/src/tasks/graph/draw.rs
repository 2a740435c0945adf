//! Draws a task graph as text, for Graphviz and for Mermaid.
//!
//! Names come from models and plans, so a drawing uses them only inside a quoted label, with
//! everything escaped that could end it. The drawing's own identifiers are numbers.

use super::{Graph, TaskReadiness, waves};
use crate::state::Task;
use crate::tasks::graph::render::one_line;
use jiff::Timestamp;
use std::collections::HashSet;
use std::fmt::Write as _;

/// One line per task: its state and its dependencies.
pub fn text(tasks: &[Task], now: Timestamp) -> String {
    let graph = Graph::new(tasks, now);
    let row = |task: &Task| {
        let mut row = line(&graph, task);
        if !task.deps.is_empty() {
            // Writing to a string cannot fail.
            let _ = write!(row, "  ← {}", one_line(&task.deps.join(", ")));
        }
        row + "\n"
    };
    tasks.iter().map(row).collect()
}

/// The tasks by waves, then the tasks that are in no wave.
pub fn in_waves(tasks: &[Task], now: Timestamp) -> String {
    let graph = Graph::new(tasks, now);
    let mut drawn = String::new();
    let mut in_a_wave: HashSet<*const Task> = HashSet::new();
    for (at, wave) in waves(tasks).into_iter().enumerate() {
        let _ = writeln!(drawn, "wave {}", at + 1);
        for task in wave {
            in_a_wave.insert(task);
            let _ = writeln!(drawn, "  {}", line(&graph, task));
        }
    }
    let others: Vec<&Task> =
        tasks.iter().filter(|task| !in_a_wave.contains(&std::ptr::from_ref(*task))).collect();
    if !others.is_empty() {
        drawn.push_str("in no wave; `ralph task lint` shows the reason\n");
        others.iter().for_each(|task| drawn.push_str(&format!("  {}\n", line(&graph, task))));
    }
    drawn
}

fn line(graph: &Graph, task: &Task) -> String {
    let word = graph.readiness(task).word();
    format!("{}  {word:<11}  {}", one_line(&task.id), one_line(&task.name))
}

/// A Graphviz document.
pub fn dot(tasks: &[Task], now: Timestamp) -> String {
    let graph = Graph::new(tasks, now);
    let mut drawn = String::from(
        "digraph tasks {\n  rankdir=LR;\n  node [shape=box, style=filled, fontname=\"sans-serif\"];\n",
    );
    for (place, task) in tasks.iter().enumerate() {
        let standing = graph.readiness(task);
        let label = label(&task.id, &task.name, standing, dot_text);
        let (_, colour) = class_and_colour(standing);
        let _ = writeln!(drawn, "  n{place} [label=\"{label}\", fillcolor=\"{colour}\"];");
    }
    for (from, to) in edges(&graph) {
        let _ = writeln!(drawn, "  n{from} -> n{to};");
    }
    drawn.push_str("}\n");
    drawn
}

/// A Mermaid document.
pub fn mermaid(tasks: &[Task], now: Timestamp) -> String {
    let graph = Graph::new(tasks, now);
    let shown: Vec<DrawnTask> =
        tasks.iter().map(|task| (&*task.id, &*task.name, graph.readiness(task))).collect();
    flowchart(&shown, edges(&graph))
}

/// Id, name and state of a task.
pub(crate) type DrawnTask<'a> = (&'a str, &'a str, TaskReadiness);

/// Like [`mermaid`], for tasks whose states and positions are known.
pub(crate) fn flowchart(
    tasks: &[DrawnTask<'_>],
    edges: impl Iterator<Item = (usize, usize)>,
) -> String {
    let mut drawn = String::from("flowchart LR\n");
    for (place, (id, name, standing)) in tasks.iter().enumerate() {
        let label = label(id, name, *standing, mermaid_text);
        let _ = writeln!(drawn, "  n{place}[\"{label}\"]:::{}", class_and_colour(*standing).0);
    }
    for (from, to) in edges {
        let _ = writeln!(drawn, "  n{from} --> n{to}");
    }
    for (standing, name, colour) in LOOKS {
        if tasks.iter().any(|(_, _, one)| *one == standing) {
            // The colours are light, and a dark page would put white text on them.
            let _ = writeln!(drawn, "  classDef {name} fill:{colour},color:#16181d");
        }
    }
    drawn
}

/// Each state with its class in Mermaid, and its colour.
const LOOKS: [(TaskReadiness, &str, &str); 7] = [
    (TaskReadiness::Ready, "ready", "#cfe8ff"),
    (TaskReadiness::Waiting, "waiting", "#f2f2f2"),
    (TaskReadiness::InProgress, "in_progress", "#fff3bf"),
    (TaskReadiness::Done, "finished", "#d3f9d8"),
    (TaskReadiness::Failed, "failed", "#ffc9c9"),
    (TaskReadiness::Blocked, "blocked", "#ffd8a8"),
    (TaskReadiness::Unknown, "unknown", "#e5dbff"),
];

/// The class and the colour of a state.
fn class_and_colour(standing: TaskReadiness) -> (&'static str, &'static str) {
    let found = LOOKS.iter().find(|(one, ..)| *one == standing);
    found.map_or(("unknown", ""), |(_, class, colour)| (class, colour))
}

fn label(id: &str, name: &str, standing: TaskReadiness, escape: fn(&str) -> String) -> String {
    let text = format!("{}: {} ({})", one_line(id), one_line(name), standing.word());
    escape(&text)
}

/// Edges from a task to each task that depends on it. Unknown dependencies have no edge.
fn edges<'g>(graph: &'g Graph) -> impl Iterator<Item = (usize, usize)> + 'g {
    let of = move |(to, task): (usize, &'g Task)| {
        task.deps.iter().filter_map(move |id| Some((graph.place(id)?, to)))
    };
    graph.tasks.iter().enumerate().flat_map(of)
}

/// In a quoted string of Graphviz a backslash starts a substitution (`\N`), and an ampersand an
/// entity.
fn dot_text(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '"' => escaped.push_str("\\\""),
            '\\' => escaped.push_str("\\\\"),
            '&' => escaped.push_str("&amp;"),
            letter => escaped.push(letter),
        }
    }
    escaped
}

/// Mermaid has no escapes except its numeric ones, reads directives (`%%{`) anywhere, and treats a
/// label in backticks as Markdown. So every character that is not known to be harmless becomes a
/// number.
fn mermaid_text(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            ' ' | '-' | '.' | ',' | ':' | '/' | '(' | ')' => escaped.push(letter),
            letter if letter.is_alphanumeric() => escaped.push(letter),
            letter => escaped.push_str(&format!("#{};", u32::from(letter))),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::super::tests::{at, graph};
    use super::*;

    #[test]
    fn a_graph_as_text_names_what_each_task_depends_on() {
        assert_eq!(
            text(&graph("a done\nb after a\nc after a b"), at(0)),
            "a  done         do a\nb  ready        do b  ← a\nc  waiting      do c  ← a, b\n"
        );
        assert_eq!(text(&[], at(0)), "");
    }

    #[test]
    fn waves_name_what_is_in_none() {
        assert_eq!(
            in_waves(&graph("a\nb after a\nc after a\nd after d\ne after x"), at(0)),
            "wave 1\n  a  ready        do a\nwave 2\n  b  waiting      do b\n  c  waiting      do \
             c\nin no wave; `ralph task lint` shows the reason\n  d  waiting      do d\n  e  \
             waiting      do e\n"
        );
        assert_eq!(in_waves(&[], at(0)), "");
    }

    #[test]
    fn drawings_show_edges_and_where_each_task_stands() {
        let tasks = graph("a done\nb after a x");
        assert_eq!(
            dot(&tasks, at(0)),
            "digraph tasks {\n  rankdir=LR;\n  node [shape=box, style=filled, fontname=\"sans-serif\"];\n  \
             n0 [label=\"a: do a (done)\", fillcolor=\"#d3f9d8\"];\n  \
             n1 [label=\"b: do b (waiting)\", fillcolor=\"#f2f2f2\"];\n  n0 -> n1;\n}\n"
        );
        assert_eq!(
            mermaid(&tasks, at(0)),
            "flowchart LR\n  n0[\"a: do a (done)\"]:::finished\n  n1[\"b: do b (waiting)\"]:::waiting\n  \
             n0 --> n1\n  classDef waiting fill:#f2f2f2,color:#16181d\n  \
             classDef finished fill:#d3f9d8,color:#16181d\n"
        );
    }

    /// Quoted text never ends its quotes, and all text outside them is Ralph's own.
    #[test]
    fn no_name_breaks_out_of_a_drawing() {
        let names = [
            "\"]; evil [label=\"x",
            "ends with a backslash\\",
            "\\\" -> n9; \\N \\G",
            "a\nb --> c\n%%{init: {'securityLevel': 'loose'}}%%",
            "</svg><script>alert(1)</script> &lt;b&gt;",
            "`**bold**` #quot; ;end",
            "\u{202e}\u{1b}[2J\u{2028}]",
        ];
        for name in names {
            let mut tasks = graph("a\nb after a");
            tasks[0].name = name.to_owned();
            tasks[0].id = format!("{name} id");
            tasks[1].deps = vec![tasks[0].id.clone()];
            let plain = graph("a\nb after a");
            for draw in [dot, mermaid] {
                let shape = |text: &str| text.lines().map(outside).collect::<Vec<_>>();
                assert_eq!(shape(&draw(&tasks, at(0))), shape(&draw(&plain, at(0))), "{name}");
            }
            let label = mermaid_text(name);
            let acts = ['"', '<', '>', '`', '{', '}', '%', '[', ']', '\\', '&', '\n'];
            assert!(!label.contains(acts), "{label}");
        }
        assert_eq!(dot_text("a\\N \"b\" &lt;"), "a\\\\N \\\"b\\\" &amp;lt;");
        assert_eq!(mermaid_text("a \"b\" #1;"), "a #34;b#34; #35;1#59;");
    }

    /// A line of a drawing without its quoted text.
    fn outside(line: &str) -> String {
        let (mut kept, mut quoted, mut escaped) = (String::new(), false, false);
        for letter in line.chars() {
            match letter {
                _ if escaped => escaped = false,
                '\\' if quoted => escaped = true,
                '"' => quoted = !quoted,
                letter if !quoted => kept.push(letter),
                _ => {}
            }
        }
        assert!(!quoted, "a quote is not closed: {line}");
        kept
    }
}
