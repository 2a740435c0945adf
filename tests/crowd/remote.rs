//! Pushes to one git remote: many clones at once, and with each trouble of a connection or a server.
//! Every push ends as landed or lost, as the repository says.

mod clone;
mod cuts;
mod races;
mod troubles;

use ralph_test_support::git_server::{GitServer, Storage, Transport};
use ralph_test_support::sample::sample;

/// No system has a form of its own of what these tests reach, so one form of Ralph is enough.
pub(crate) fn tests() -> &'static [crate::Test] {
    if ralph_test_support::portable().is_some() { &[] } else { TESTS }
}

const TESTS: &[crate::Test] = &[
    ("of_clones_that_push_one_reference_at_once_one_wins_and_all_agree", races::one_winner),
    ("of_two_clones_one_wins_wherever_the_connection_of_the_first_breaks", cuts::anywhere),
    ("a_silent_connection_ends_at_the_deadline_and_the_push_is_settled_later", troubles::silence),
    ("a_remote_that_is_gone_is_reported_and_the_push_lands_when_it_is_back", troubles::gone),
    ("a_stale_lock_is_reported_as_one_and_blocks_nothing_else", troubles::stale_lock),
    ("a_push_that_a_full_disk_refused_works_later", troubles::full_disk),
    ("of_a_push_whose_server_was_killed_between_two_references_each_is_settled", troubles::killed),
];

/// One in three of them, if not the whole proof is asked for.
fn servers(wanted: &[(Transport, Storage)]) -> Vec<GitServer> {
    let start = |(transport, storage): (_, _)| GitServer::start_or_skip(transport, storage);
    match wanted {
        [one] => start(*one).into_iter().collect(),
        several => sample(several.to_vec(), 3).into_iter().filter_map(start).collect(),
    }
}

const CONNECTED: [(Transport, Storage); 3] = [
    (Transport::Daemon, Storage::Files),
    (Transport::Http, Storage::Files),
    (Transport::Ssh, Storage::Files),
];
