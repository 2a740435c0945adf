//! The page at common sizes, as a terminal would show it.

use super::super::model::{Criterion, InputMode, Model, TextTone, WatchedLoop};
use super::super::sample::{at_work, model, others, shown};
use super::*;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use std::path::Path;

fn screen(model: &Model, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, model)).unwrap();
    let buffer = terminal.backend().buffer();
    let rows = (0..height).map(|row| {
        let cells = (0..width).map(|column| buffer[(column, row)].symbol());
        cells.collect::<String>().trim_end().to_owned()
    });
    rows.collect::<Vec<_>>().join("\n") + "\n"
}

/// Compares with a kept page; `RALPH_UPDATE_WATCH=1` rewrites it.
#[track_caller]
fn check(name: &str, model: &Model, width: u16, height: u16) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/cli/watch/view/kept").join(name);
    let shown = screen(model, width, height);
    if std::env::var_os("RALPH_UPDATE_WATCH").is_some() {
        std::fs::write(&path, &shown).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(shown, kept, "{name}\n{shown}");
}

fn all() -> Model {
    model([vec![at_work()], others()].concat())
}

#[test]
fn the_page_is_as_it_is_kept() {
    check("80x24.txt", &all(), 80, 24);
    check("60x20.txt", &all(), 60, 20);
    check("200x50.txt", &all(), 200, 50);
}

#[test]
fn without_a_loop_the_page_says_how_one_is_started() {
    let shown = screen(&model(Vec::new()), 80, 24);
    assert!(shown.contains("no loop is live or planned here"), "{shown}");
    assert!(shown.contains("/ralph \"what to do\" in Claude Code starts one"), "{shown}");
}

#[test]
fn every_size_is_filled_and_none_is_left() {
    for (width, height) in [(30, 8), (40, 10), (80, 24), (79, 23), (139, 30), (140, 30), (300, 90)]
    {
        for selected in 0..3 {
            let model = Model { selected, ..all() };
            let lines = lines(&model, width, height);
            assert_eq!(lines.len(), usize::from(height), "{width}x{height}");
            let widest = lines.iter().map(Line::width).max().unwrap();
            assert!(widest <= usize::from(width), "{width}x{height}: {widest}");
            let shown = screen(&model, width, height);
            assert_eq!(shown.matches("\n> 2026").count(), 1, "{width}x{height}\n{shown}");
        }
    }
    assert!(screen(&all(), 29, 20).starts_with("too small to watch"));
    screen(&all(), 1, 1);
}

#[test]
fn nothing_that_a_model_wrote_acts_on_the_terminal() {
    let evil = "a\u{1b}[2Jb\u{202e}c\u{7}\nd\te";
    let one = WatchedLoop {
        loop_id: evil.to_owned(),
        state: evil.to_owned(),
        goal: evil.to_owned(),
        rows: vec![("task", evil.to_owned())],
        criteria: vec![Criterion {
            id: evil.to_owned(),
            word: "held",
            tone: TextTone::Good,
            at: None,
            note: evil.to_owned(),
            description: evil.to_owned(),
        }],
        ..shown("")
    };
    let mut model = model(vec![one]);
    model.notice = evil.to_owned();
    model.unreadable = vec![evil.to_owned()];
    for asks in [InputMode::Nothing, InputMode::Steer { loop_id: evil.into(), text: evil.into() }] {
        model.asks = asks;
        for (width, height) in [(60, 20), (200, 50)] {
            let shown = lines(&model, width, height);
            let texts = shown.iter().flat_map(|line| &line.spans).map(|span| &span.content);
            for text in texts {
                assert!(
                    ralph_core::text::sanitize::is_quiet(text) && !text.contains('\n'),
                    "{text:?}"
                );
            }
        }
    }
}

#[test]
fn without_colours_nothing_is_coloured_and_every_word_is_there() {
    let plain = Model { colours: false, ..all() };
    let styles = lines(&plain, 80, 24).into_iter().flat_map(|line| line.spans);
    assert!(styles.into_iter().all(|span| span.style.fg.is_none()));
    let styles = lines(&all(), 80, 24).into_iter().flat_map(|line| line.spans);
    assert!(styles.into_iter().any(|span| span.style.fg.is_some()));
    assert_eq!(screen(&plain, 80, 24), screen(&all(), 80, 24));
}

#[test]
fn what_is_asked_stands_at_the_bottom() {
    let with = |asks| screen(&Model { asks, ..all() }, 60, 20);
    let stop = with(InputMode::Stop { loop_id: "20260131-121030-1f3a".to_owned() });
    assert!(stop.contains("\nstop loop 20260131-121030-1f3a? It ends for good"), "{stop}");
    assert!(stop.contains("\n y stops it, any other key does not\n"), "{stop}");
    let long = format!("{}THE END", "x".repeat(100));
    let steer = with(InputMode::Steer { loop_id: "l".to_owned(), text: long });
    assert!(steer.contains("xxTHE END_\n"), "{steer}");
    let help = with(InputMode::Help);
    assert!(help.contains("pause: the loop pauses after this turn"), "{help}");
    assert!(help.contains("Any key closes this."), "{help}");
}

#[test]
fn what_does_not_fit_is_counted() {
    let criterion = at_work().criteria[0].clone();
    let many = WatchedLoop { criteria: vec![criterion; 40], ..at_work() };
    let shown = screen(&model(vec![many; 30]), 80, 24);
    assert!(shown.contains("40 of 40 held when they were last run  ... 39 more\n"), "{shown}");
    assert!(shown.contains("1 to 5 of 30"), "{shown}");
    assert!(shown.contains("decisions  ... 2 more"), "{shown}");
}

#[test]
fn a_bar_is_full_only_when_all_is_used() {
    let shown = |used, most| {
        let bars = vec![super::super::model::Bar { label: "tokens", used, most }];
        screen(&model(vec![WatchedLoop { bars, ..shown("a") }]), 80, 24)
    };
    assert!(shown(999, 1_000).contains("#.]  999 of 1,000"), "{}", shown(999, 1_000));
    assert!(shown(1_000, 1_000).contains("##]  1,000 of 1,000"));
    assert!(shown(5, 0).contains("##]  5 of 0"));
    assert!(shown(u64::MAX, u64::MAX).contains("##]"));
}
