//! Connections that break after every so many bytes, in both directions, while another clone wants
//! the same reference.

use super::clone::{CloneOf, value};
use super::{CONNECTED, servers};
use crate::size::size;
use crate::tally;
use ralph_core::tasks::shared::text::ObjectId;
use ralph_core::tasks::shared::timing::Settled;
use ralph_test_support::git_server::{Fault, GitServer, Traffic, Transport};
use std::collections::BTreeSet;
use std::time::Duration;

/// What the cut pushes came to.
#[derive(Debug, Default)]
struct Outcomes {
    landed_and_reported: usize,
    landed_in_doubt: usize,
    /// It had not landed, and the same record was pushed again.
    landed_later: usize,
    lost: usize,
}

pub(super) fn anywhere() {
    // They wait for deadlines most of the time.
    std::thread::scope(|scope| {
        for server in servers(&CONNECTED) {
            scope.spawn(move || anywhere_on_the_way_to(&server));
        }
    });
}

fn anywhere_on_the_way_to(server: &GitServer) {
    let (mut first, second) = (CloneOf::new(server, "first"), CloneOf::new(server, "second"));
    let base = first.claim("T-1", None);
    assert_eq!(first.finish(&base), Settled::Landed);
    assert_eq!(second.read(&base.append.reference), Some(vec![base.record.clone()]));
    let before = server.traffic();
    first.push(&[&first.claim("T-1", Some(&base.record))]);
    let whole = since(before, server.traffic());
    // Measured with 2.47: after some cuts, `git push` over http waits for itself for ever.
    first.repository.set_deadline(Duration::from_secs(3));
    let mut outcomes = Outcomes::default();
    for (fault, rival) in
        cuts(server, whole).into_iter().zip([None, Some(&second)].into_iter().cycle())
    {
        server.git(&["update-ref", &base.append.reference, base.record.as_str()]);
        cut(server, &base.record, &first, rival, fault, &mut outcomes);
    }
    println!("{:?}: {outcomes:?}", server.transport());
    let landed = outcomes.landed_and_reported + outcomes.landed_in_doubt;
    assert!(landed > 0 && outcomes.landed_later > 0 && outcomes.lost > 0, "{outcomes:?}");
}

fn since(before: Traffic, after: Traffic) -> Traffic {
    Traffic {
        connections: after.connections - before.connections,
        sent: after.sent - before.sent,
        received: after.received - before.received,
    }
}

/// Cuts from the first byte to the last one of a whole push. The end counts most: there the server
/// has taken the push, or its answer is on the way.
fn cuts(server: &GitServer, whole: Traffic) -> Vec<Fault> {
    // A connection over ssh takes ten times as long.
    let n = if server.transport() == Transport::Ssh { 2 } else { 4 } * size().rounds as u64;
    let places = |bytes: u64| -> BTreeSet<u64> {
        let even = (0..n).map(|at| bytes * at / n);
        even.chain((0..n).map(|at| bytes - bytes / 4 * at / n - 1)).collect()
    };
    let client = places(whole.sent).into_iter().map(Fault::CutClient);
    client.chain(places(whole.received).into_iter().map(Fault::CutServer)).collect()
}

/// The connection of the first breaks, then another one may push, then the first settles its push.
fn cut(
    server: &GitServer,
    base: &ObjectId,
    first: &CloneOf,
    second: Option<&CloneOf>,
    fault: Fault,
    outcomes: &mut Outcomes,
) {
    let cut = first.claim("T-1", Some(base));
    server.set(fault);
    let report = first.push(&[&cut]);
    server.set(Fault::Pass);
    tally::broken();
    let rival = second.map(|second| {
        let rival = second.claim("T-1", Some(base));
        (second.finish(&rival), rival.record)
    });
    let known = first.settle(&cut, &report);
    let is_open = matches!(known, Settled::Again | Settled::Read);
    let settled = if is_open { first.finish(&cut) } else { known };
    let winner = match (settled, &rival) {
        (Settled::Landed, None | Some((Settled::Lost, _))) => &cut.record,
        (Settled::Lost, Some((Settled::Landed, rival))) => rival,
        both => panic!("{both:?} after {fault:?}: {report:?}"),
    };
    assert_eq!(value(server, &cut.append.reference), winner.as_str(), "{fault:?}");
    *match settled {
        Settled::Landed if is_open => &mut outcomes.landed_later,
        Settled::Landed if report.flag(&cut.append.reference) == Some(' ') => {
            &mut outcomes.landed_and_reported
        }
        Settled::Landed => &mut outcomes.landed_in_doubt,
        _ => &mut outcomes.lost,
    } += 1;
}
