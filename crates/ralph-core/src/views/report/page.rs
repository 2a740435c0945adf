//! A report as one page that needs nothing else: no script, no request, no font.
//!
//! Its policy forbids the browser to fetch anything, so that no text in it can make it speak with anyone. The
//! page is light or dark as its reader's system is, and says nothing by colour alone.

mod drawing;
mod glyph;

use super::history::{Cell, FromWhen, Worth};
use super::markup::Markup;
use super::spent::Spent;
use super::words::{self, counted, grouped, lasted, rounded, share};
use super::{Evidence, Gauge, Report, ReportRound, ReportStep, ReportTurn, Rounds, Tone, Trouble};
use crate::tasks::graph::TaskReadiness as TaskStanding;
pub(super) use drawing::summary as tasks_summary;
use glyph::Glyph;
use jiff::Timestamp;

/// Stands near the beginning of every page: by it a page is known as one of ours.
pub const MARK: &str = "<meta name=\"generator\" content=\"ralph report\">";

const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";

const STYLE: &str = include_str!("page/style.css");

/// Iterations whose time and tokens are shown, the last ones.
const MOST_BARS: usize = 60;

/// Letters of the goal that are its heading.
const HEADING: usize = 140;

/// The page.
pub fn render(report: &Report) -> String {
    let mut page = Markup::default();
    page.ours("<!doctype html>\n");
    page.within("html", &[("lang", "en")], |html| {
        html.within("head", &[], |head| of_head(head, report));
        html.within("body", &[], |body| {
            glyph::define(body);
            body.within("main", &[], |main| of_main(main, report));
        });
    });
    page.ours("\n");
    page.finish()
}

fn of_head(head: &mut Markup, report: &Report) {
    head.ours("<meta charset=\"utf-8\">");
    head.ours(MARK);
    head.open("meta", &[("http-equiv", "Content-Security-Policy"), ("content", POLICY)]);
    head.ours("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">");
    head.ours("<meta name=\"color-scheme\" content=\"light dark\">");
    // Without one a browser asks the place that the page came from.
    head.ours("<link rel=\"icon\" href=\"data:,\">");
    let title = format!("{}: {}", report.outcome.word, words::line(&report.goal, 80));
    head.put("title", "", &title);
    head.within("style", &[], |style| style.ours(STYLE));
}

fn of_main(main: &mut Markup, report: &Report) {
    main.within("header", &[], |header| of_header(header, report));
    main.within("section", &[("class", "gauges"), ("aria-label", "in numbers")], |gauges| {
        report.gauges.iter().for_each(|one| gauge(gauges, one));
    });
    if !report.next.is_empty() {
        main.within("p", &[("class", "next")], |next| {
            next.put("b", "", "Next");
            next.within("span", &[], |said| said.with_code(&report.next));
        });
    }
    for note in &report.notes {
        main.put("p", "note", note);
    }
    if !report.evidence.is_empty() {
        card(main, "Evidence", "the last run of each acceptance command, made by Ralph", |card| {
            report.evidence.iter().for_each(|one| evidence(card, one));
        });
    }
    if !report.rounds.all.is_empty() {
        let hint = format!("what each said, and the {} that were measured", report.rounds.unit);
        card(main, "Rounds", &hint, |card| rounds(card, &report.rounds));
    }
    if !report.history.rows.is_empty() {
        card(main, "Criteria over time", "at the end of each iteration", |card| {
            history(card, report);
        });
    }
    if !report.tasks.is_empty() {
        card(main, "Tasks", &drawing::summary(report), |card| drawing::tasks(card, report));
    }
    if !report.spent.is_empty() {
        card(main, "Time and tokens", "by iterations", |card| spent(card, report));
    }
    if !report.trouble.is_empty() {
        card(main, "In the way", "", |card| {
            card.within("div", &[("class", "troubles")], |all| {
                report.trouble.iter().for_each(|one| trouble(all, one));
            });
        });
    }
    if !report.timeline.is_empty() {
        let left_out = match report.n_left_out {
            0 => String::new(),
            n => format!("{} left out", counted(n, "earlier one is", "earlier ones are")),
        };
        card(main, "Timeline", &left_out, |card| {
            report.timeline.iter().for_each(|one| turn(card, one));
        });
    }
    main.within("footer", &[], |footer| {
        footer.words("Made by ");
        footer.put("code", "", "ralph report");
        match report.made_at {
            Some(at) => footer.words(&format!(" at {}, while it was not over.", moment(at))),
            None => footer.words(" when it was over. All times are UTC."),
        }
    });
}

fn moment(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M:%SZ").to_string()
}

fn of_header(header: &mut Markup, report: &Report) {
    header.within("div", &[("class", "over")], |over| {
        over.put("span", "mark", "Ralph");
        over.words(report.kind);
        over.put("span", "id", &report.id);
    });
    let goal = report.goal.trim();
    let first = words::line(goal.lines().next().unwrap_or_default(), HEADING);
    let is_whole = first == goal;
    header.put("h1", "", if first.is_empty() { report.kind } else { &first });
    header.within("div", &[("class", "outcome")], |row| {
        pill(row, report.outcome.tone, &report.outcome.word, "");
        if !report.outcome.detail.is_empty() {
            row.put("span", "why", &report.outcome.detail);
        }
    });
    if !is_whole && !goal.is_empty() {
        header.within("details", &[("class", "goal")], |details| {
            details.put("summary", "", "What was asked for, whole");
            details.put("pre", "", goal);
        });
    }
    header.within("dl", &[("class", "facts")], |facts| {
        for (label, value) in &report.facts {
            facts.within("div", &[], |fact| {
                fact.put("dt", "", label);
                fact.put("dd", "", value);
            });
        }
    });
}

fn pill(to: &mut Markup, tone: Tone, word: &str, more: &str) {
    let class = format!("pill {} {more}", tone.word());
    to.within("span", &[("class", class.trim())], |pill| {
        glyph::put(pill, Glyph::of_tone(tone), tone);
        pill.words(word);
    });
}

fn card(main: &mut Markup, title: &'static str, hint: &str, inside: impl FnOnce(&mut Markup)) {
    let class = if matches!(title, "Timeline" | "In the way" | "Tasks" | "Rounds") {
        "card long"
    } else {
        "card"
    };
    main.within("section", &[("class", class)], |card| {
        card.within("header", &[], |header| {
            header.put("h2", "", title);
            if !hint.is_empty() {
                header.put("span", "hint", hint);
            }
        });
        inside(card);
    });
}

fn bar(to: &mut Markup, hundredths: u8) {
    let style = format!("width:{hundredths}%");
    to.within("div", &[("class", "bar"), ("aria-hidden", "true")], |bar| {
        if hundredths > 0 {
            bar.within("i", &[("style", &style)], |_| {});
        }
    });
}

fn gauge(to: &mut Markup, gauge: &Gauge) {
    let class = format!("gauge {}", gauge.tone.word());
    to.within("div", &[("class", &class)], |to| {
        to.put("div", "label", gauge.label);
        to.within("div", &[("class", "value")], |value| {
            value.words(&gauge.value);
            if !gauge.of.is_empty() {
                value.words(" ");
                value.put("span", "", &gauge.of);
            }
        });
        if let Some(share) = gauge.share {
            bar(to, share);
        }
    });
}

fn evidence(to: &mut Markup, one: &Evidence) {
    to.within("div", &[("class", "proof")], |proof| {
        pill(proof, one.tone, &words::spaced(one.standing), "small");
        proof.within("div", &[], |about| {
            about.within("div", &[("class", "name")], |name| {
                name.put("span", "id", &one.id);
                name.words(&one.about);
            });
            about.within("div", &[("class", "said")], |said| {
                if !one.command.is_empty() {
                    said.put("code", "", &one.command);
                    said.words(" ");
                }
                said.words(&one.receipt);
            });
            if !one.tail.is_empty() {
                about.put("pre", "", &one.tail);
            }
        });
    });
}

fn rounds(card: &mut Markup, rounds: &Rounds) {
    card.within("ul", &[("class", "spent")], |list| {
        list.within("li", &[("class", "head")], |head| {
            let measured = format!("{} measured", rounds.unit);
            ["", "changes said", &measured].iter().for_each(|word| head.put("span", "", word));
        });
        for round in &rounds.all {
            let title = format!("Round {}", round.number);
            let numbers = [&round.said, &round.measured]
                .map(|one| Some((one.share.unwrap_or_default(), one.word.clone())));
            beside(list, (&round.number.to_string(), &title), numbers);
        }
    });
    for round in &rounds.all {
        of_round(card, round);
    }
    if rounds.n_left_out > 0 {
        let left_out = counted(rounds.n_left_out, "earlier round is", "earlier rounds are");
        card.put("p", "hint", &format!("{left_out} left out."));
    }
}

fn of_round(to: &mut Markup, round: &ReportRound) {
    to.within("div", &[("class", "proof")], |proof| {
        pill(proof, round.tone, round.word, "small");
        proof.within("div", &[], |about| {
            about.within("div", &[("class", "name")], |name| {
                name.put("span", "id", &format!("Round {}", round.number));
                name.words(&round.summary);
            });
            let mut said = vec![match &round.change {
                Some(change) => format!("measured: {change}"),
                None => "what changed could not be measured".to_owned(),
            }];
            said.extend(round.version.map(|number| format!("version {number}")));
            said.extend(round.remarks.iter().map(|remark| (*remark).to_owned()));
            about.put("div", "said", &said.join("; "));
        });
    });
}

fn history(card: &mut Markup, report: &Report) {
    let history = &report.history;
    wide(card, "Criteria over time", |wide| {
        wide.within("table", &[], |table| {
            table.within("tr", &[], |row| {
                row.within("th", &[("class", "row"), ("scope", "col")], |_| {});
                for moment in &history.moments {
                    row.within("th", &[("scope", "col")], |head| head.words(moment));
                }
            });
            for one in &history.rows {
                table.within("tr", &[], |row| {
                    row.within("th", &[("class", "row"), ("scope", "row")], |head| {
                        head.put("span", "id", &one.id);
                        head.words(&one.about);
                    });
                    one.cells.iter().for_each(|cell| row.within("td", &[], |td| of_cell(td, cell)));
                });
            }
        });
    });
    card.within("p", &[("class", "key")], |key| {
        for (worth, looked, said) in [
            (Worth::Holds, FromWhen::Now, "holds"),
            (Worth::Holds, FromWhen::Before, "held when last run"),
            (Worth::Fails, FromWhen::Now, "does not hold"),
            (Worth::Stale, FromWhen::Now, "stale, or to be run once more"),
            (Worth::Never, FromWhen::Now, "never run"),
        ] {
            key.within("span", &[], |span| {
                glyph::put(span, Glyph::of_worth(worth, looked), tone_of(worth));
                span.words(said);
            });
        }
    });
    let left_out = [
        (history.n_moments_left_out, "earlier iteration is", "earlier iterations are"),
        (history.n_rows_left_out, "criterion is", "criteria are"),
    ];
    for (n, one, many) in left_out.into_iter().filter(|(n, _, _)| *n > 0) {
        card.put("p", "hint", &format!("{} left out.", counted(n, one, many)));
    }
}

fn tone_of(worth: Worth) -> Tone {
    match worth {
        Worth::Holds => Tone::Good,
        Worth::Fails => Tone::Bad,
        Worth::Stale => Tone::Warn,
        Worth::Never => Tone::Quiet,
    }
}

fn of_cell(td: &mut Markup, cell: &Cell) {
    glyph::put(td, Glyph::of_worth(cell.worth, cell.looked), tone_of(cell.worth));
    let said = match cell.looked {
        FromWhen::Now => words::spaced(&cell.word),
        FromWhen::Before => format!("{} when it was last run", words::spaced(&cell.word)),
    };
    td.put("span", "only-said", &said);
}

/// What may be wider than the page scrolls within it, and can be reached by the keyboard.
fn wide(to: &mut Markup, label: &str, inside: impl FnOnce(&mut Markup)) {
    let attributes =
        [("class", "wide"), ("role", "region"), ("tabindex", "0"), ("aria-label", label)];
    to.within("div", &attributes, inside);
}

fn spent(card: &mut Markup, report: &Report) {
    let shown = &report.spent[report.spent.len().saturating_sub(MOST_BARS)..];
    let longest = shown.iter().map(|one| one.took_ms).max().unwrap_or_default();
    let most = shown.iter().filter_map(|one| one.tokens).max().unwrap_or_default();
    card.within("ul", &[("class", "spent")], |list| {
        let words = if most > 0 { &["", "time", "tokens"][..] } else { &["", "time"] };
        list.within("li", &[("class", "head")], |head| {
            words.iter().for_each(|word| head.put("span", "", word));
        });
        shown.iter().for_each(|one| measures(list, one, longest, most));
    });
    if report.spent.len() > shown.len() {
        let n = report.spent.len() - shown.len();
        let said =
            format!("{} left out.", counted(n, "earlier iteration is", "earlier iterations are"));
        card.put("p", "hint", &said);
    }
    if !report.tokens.is_empty() {
        card.within("dl", &[("class", "kinds")], |kinds| {
            for (label, n) in &report.tokens {
                kinds.within("div", &[], |kind| {
                    kind.put("dt", "", label);
                    kind.put("dd", "", &grouped(*n));
                });
            }
        });
    }
}

fn measures(list: &mut Markup, one: &Spent, longest: u64, most: u64) {
    let tokens = one.tokens.filter(|_| most > 0);
    let tokens = tokens.map(|tokens| (share(tokens, most), rounded(tokens)));
    let time = Some((share(one.took_ms, longest), lasted(one.took_ms)));
    beside(list, (&one.short, &one.title), [time, tokens]);
}

/// Two numbers of one thing, each with a bar; one that is not known has none.
fn beside(list: &mut Markup, (short, title): (&str, &str), numbers: [Option<(u8, String)>; 2]) {
    list.within("li", &[], |row| {
        row.within("span", &[("class", "name"), ("title", title)], |name| name.words(short));
        for (tone, measure) in [Tone::Live, Tone::Quiet].into_iter().zip(numbers) {
            let class = format!("measure {}", tone.word());
            row.within("span", &[("class", &class)], |to| {
                if let Some((share, said)) = measure {
                    bar(to, share);
                    to.put("span", "", &said);
                }
            });
        }
    });
}

fn trouble(to: &mut Markup, one: &Trouble) {
    to.within("div", &[], |group| {
        group.within("h3", &[], |head| {
            glyph::put(head, Glyph::of_tone(one.tone), one.tone);
            head.words(one.title);
            head.put("span", "", &grouped((one.items.len() + one.more) as u64));
        });
        group.within("ul", &[("class", "list")], |list| {
            for (at, what) in &one.items {
                list.within("li", &[], |item| {
                    item.put("span", "id", at);
                    item.within("span", &[], |said| said.with_code(what));
                });
            }
            if one.more > 0 {
                list.put("li", "more", &format!("and {} more", grouped(one.more as u64)));
            }
        });
    });
}

fn turn(to: &mut Markup, turn: &ReportTurn) {
    to.within("div", &[("class", "turn")], |group| {
        group.within("h3", &[], |head| {
            head.words(&turn.title);
            let at = turn.at.map(moment);
            for said in at.iter().chain([&turn.sum]).filter(|said| !said.is_empty()) {
                head.words(" ");
                head.put("span", "", said);
            }
        });
        group.within("ol", &[("class", "steps")], |list| {
            turn.steps.iter().for_each(|one| list.within("li", &[], |item| step(item, one)));
        });
    });
}

fn step(item: &mut Markup, step: &ReportStep) {
    glyph::put(item, Glyph::of_tone(step.tone), step.tone);
    item.put("span", "what", &step.what);
    if let Some(at) = step.at {
        item.words(" ");
        item.put("time", "", &at.strftime("%H:%M:%SZ").to_string());
    }
    if !step.why.is_empty() {
        item.within("div", &[("class", "why")], |why| why.with_code(&step.why));
    }
    // What the line above says already need not be unfolded.
    let rows: Vec<_> = step.rows.iter().filter(|(_, value)| *value != step.why).collect();
    if !rows.is_empty() {
        item.within("details", &[], |details| {
            details.put("summary", "", "Details");
            details.within("dl", &[], |list| {
                for (label, value) in rows {
                    list.put("dt", "", label);
                    list.put("dd", "", value);
                }
            });
        });
    }
}

/// How a task is to be taken.
fn tone_of_task(standing: TaskStanding) -> Tone {
    match standing {
        TaskStanding::Done => Tone::Good,
        TaskStanding::InProgress | TaskStanding::Ready => Tone::Live,
        TaskStanding::Failed => Tone::Bad,
        TaskStanding::Blocked => Tone::Warn,
        TaskStanding::Waiting | TaskStanding::Unknown => Tone::Quiet,
    }
}
