//! Small signs, each with a form of its own: who cannot tell the colours apart tells the forms.

use crate::tasks::graph::TaskReadiness as TaskStanding;
use crate::views::report::Tone;
use crate::views::report::history::{FromWhen, Worth};
use crate::views::report::markup::Markup;

/// A sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Glyph {
    Check,
    CheckBefore,
    Cross,
    CrossBefore,
    Alert,
    AlertBefore,
    Half,
    Play,
    Dots,
    Bar,
    Dot,
    Ask,
}

const ALL: [(Glyph, &str, &str); 12] = [
    (
        Glyph::Check,
        "g1",
        r#"<circle class="fill" cx="8" cy="8" r="7"/><path class="cut" d="M4.9 8.3 7.1 10.5 11.2 5.9"/>"#,
    ),
    (
        Glyph::CheckBefore,
        "g2",
        r#"<circle class="edge" cx="8" cy="8" r="6.2"/><path class="ink" d="M5.2 8.3 7.2 10.2 10.9 6.1"/>"#,
    ),
    (
        Glyph::Cross,
        "g3",
        r#"<path class="fill" d="M5.1 1h5.8L15 5.1v5.8L10.9 15H5.1L1 10.9V5.1z"/><path class="cut" d="m5.6 5.6 4.8 4.8m0-4.8-4.8 4.8"/>"#,
    ),
    (
        Glyph::CrossBefore,
        "g4",
        r#"<path class="edge" d="M5.4 1.8h5.2l3.6 3.6v5.2l-3.6 3.6H5.4l-3.6-3.6V5.4z"/><path class="ink" d="m5.9 5.9 4.2 4.2m0-4.2-4.2 4.2"/>"#,
    ),
    (
        Glyph::Alert,
        "g5",
        r#"<path class="fill" d="M8 1.2 15.4 14.4H.6z"/><path class="cut" d="M8 6v3.6m0 2.1v.1"/>"#,
    ),
    (
        Glyph::AlertBefore,
        "g6",
        r#"<path class="edge" d="M8 2.2 14.4 13.8H1.6z"/><path class="ink" d="M8 6.6v3m0 1.9v.1"/>"#,
    ),
    (
        Glyph::Half,
        "g7",
        r#"<circle class="edge" cx="8" cy="8" r="6.2"/><path class="fill" d="M8 3.8a4.2 4.2 0 0 1 0 8.4z"/>"#,
    ),
    (
        Glyph::Play,
        "g8",
        r#"<circle class="edge" cx="8" cy="8" r="6.2"/><path class="fill" d="M6.4 4.9 11.4 8l-5 3.1z"/>"#,
    ),
    (Glyph::Dots, "g9", r#"<circle class="edge dots" cx="8" cy="8" r="6.2"/>"#),
    (
        Glyph::Bar,
        "ga",
        r#"<rect class="fill" x="1.4" y="1.4" width="13.2" height="13.2" rx="3"/><path class="cut" d="M4.8 8h6.4"/>"#,
    ),
    (Glyph::Dot, "gb", r#"<circle class="fill" cx="8" cy="8" r="2.6"/>"#),
    (
        Glyph::Ask,
        "gc",
        r#"<path class="edge" d="M8 1.4 14.6 8 8 14.6 1.4 8z"/><circle class="fill" cx="8" cy="8" r="1.6"/>"#,
    ),
];

impl Glyph {
    pub(super) fn of_tone(tone: Tone) -> Glyph {
        match tone {
            Tone::Good => Glyph::Check,
            Tone::Warn => Glyph::Alert,
            Tone::Bad => Glyph::Cross,
            Tone::Live => Glyph::Half,
            Tone::Quiet => Glyph::Dot,
        }
    }

    pub(super) fn of_worth(worth: Worth, looked: FromWhen) -> Glyph {
        match (worth, looked) {
            (Worth::Holds, FromWhen::Now) => Glyph::Check,
            (Worth::Holds, FromWhen::Before) => Glyph::CheckBefore,
            (Worth::Fails, FromWhen::Now) => Glyph::Cross,
            (Worth::Fails, FromWhen::Before) => Glyph::CrossBefore,
            (Worth::Stale, FromWhen::Now) => Glyph::Alert,
            (Worth::Stale, FromWhen::Before) => Glyph::AlertBefore,
            (Worth::Never, _) => Glyph::Dot,
        }
    }

    pub(super) fn of_task(standing: TaskStanding) -> Glyph {
        match standing {
            TaskStanding::Done => Glyph::Check,
            TaskStanding::InProgress => Glyph::Half,
            TaskStanding::Ready => Glyph::Play,
            TaskStanding::Waiting => Glyph::Dots,
            TaskStanding::Failed => Glyph::Cross,
            TaskStanding::Blocked => Glyph::Bar,
            TaskStanding::Unknown => Glyph::Ask,
        }
    }

    fn name(self) -> &'static str {
        ALL.iter().find(|(one, _, _)| *one == self).map_or("gb", |(_, name, _)| *name)
    }
}

/// Defines all of them, once in a page.
pub(super) fn define(body: &mut Markup) {
    body.within("svg", &[("width", "0"), ("height", "0"), ("style", "position:absolute"), ("aria-hidden", "true")], |svg| {
        for (_, name, form) in ALL {
            svg.within("symbol", &[("id", name), ("viewBox", "0 0 16 16")], |symbol| symbol.ours(form));
        }
        svg.ours(r#"<marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path class="tip" d="M0 .6 7.4 4 0 7.4z"/></marker>"#);
    });
}

/// A sign among words. What it says stands beside it.
pub(super) fn put(to: &mut Markup, glyph: Glyph, tone: Tone) {
    let class = format!("glyph {}", tone.word());
    to.within("svg", &[("class", &class), ("aria-hidden", "true")], |svg| refer(svg, glyph));
}

/// A sign in a drawing.
pub(super) fn put_at(svg: &mut Markup, glyph: Glyph, (x, y): (i32, i32)) {
    let [x, y] = [x, y].map(|number| number.to_string());
    let link = format!("#{}", glyph.name());
    svg.within(
        "use",
        &[("href", &link), ("x", &x), ("y", &y), ("width", "16"), ("height", "16")],
        |_| {},
    );
}

fn refer(svg: &mut Markup, glyph: Glyph) {
    let link = format!("#{}", glyph.name());
    svg.within("use", &[("href", &link)], |_| {});
}
