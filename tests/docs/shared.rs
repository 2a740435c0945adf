//! `docs/shared.md` shows the settings of shared loops, and its load on paper follows from the rules.

use super::{check_contains, read, root};
use ralph_core::project::settings::{Settings, SharedSettings};
use ralph_core::tasks::shared::record::LARGEST_BATCH;
use ralph_core::tasks::shared::timing;
use std::time::Duration;

fn guide() -> String {
    read(&root().join("docs/shared.md"))
}

#[test]
fn the_settings_are_shown_whole_and_with_their_defaults() {
    let guide = guide();
    let (_, rest) = guide.split_once("<!-- shared settings -->\n```toml\n").unwrap();
    let settings: Settings = toml::from_str(rest.split_once("```").unwrap().0).unwrap();
    assert_eq!(settings.refused(), None);
    let (shown, plain) = (settings.shared(), SharedSettings::default());
    assert_eq!(shown.lease_seconds(), plain.lease_seconds());
    assert_eq!(shown.poll(), plain.poll());
    assert_eq!(shown.pushes_per_minute(), plain.pushes_per_minute());
    assert_eq!(shown.is_below_heads(), plain.is_below_heads());
    let SharedSettings {
        lease_seconds: Some(_),
        poll_seconds: Some(_),
        pushes_per_minute: Some(_),
        below_heads: Some(_),
    } = shown
    else {
        panic!("a setting is not shown: {shown:?}");
    };
}

#[test]
fn the_load_on_paper_follows_from_the_rules() {
    let settings = SharedSettings::default();
    let lease = Duration::from_secs(settings.lease_seconds());
    let renewal = (1..).find(|n| timing::is_renewal_due(Duration::from_secs(n * 60), lease));
    let in_a_minute = |machines: u32, minutes: u64| f64::from(machines) / minutes as f64;
    let finishes = |machines| in_a_minute(machines, 10);
    let renewals = |machines| in_a_minute(machines, renewal.unwrap());
    let verdicts = |machines| (finishes(machines) / LARGEST_BATCH as f64).ceil();
    let pushes =
        |machines| format!("{}+{}+{}", finishes(machines), renewals(machines), verdicts(machines));
    let reads = |machines: u64| machines * 60 / settings.poll().as_secs();
    let most = settings.pushes_per_minute();
    let fits = |n: &u32| finishes(*n) + renewals(*n) + verdicts(*n) <= f64::from(most);
    let minutes = timing::push_wait(most, 1_000, &[Duration::ZERO]).as_secs_f64() / 60.0;
    check_contains(
        &guide(),
        &[
            &format!("renewals, verdicts | {} | {} | {most}, ", pushes(16), pushes(1_000)),
            &format!("all wait | {} | {},000 |", reads(16), reads(1_000) / 1_000),
            &format!("at about {} machines", (1..100).take_while(fits).last().unwrap()),
            &format!("every {minutes:.0} minutes"),
            &format!("to last {:.0}", minutes * 3.0),
            &format!("up to {LARGEST_BATCH} finished tasks"),
            &format!(
                "a lease of {} minutes, renewed every {}",
                lease.as_secs() / 60,
                renewal.unwrap()
            ),
        ],
    );
}
