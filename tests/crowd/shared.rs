//! Machines that share a loop through a git remote, with what goes wrong on machines, on the way and
//! on the server. The bare repository shows at the end that each task was merged once, that nothing
//! is lost, and that the loop ended once.

use crate::chance::Chance;
use crate::size::is_full;
use ralph_test_support::sample::seed;

mod field;
mod harms;
mod ledger;
mod runs;

/// Without `RALPH_PROOF`, the first and one of those that take seconds; the others take minutes. In the short form, those
/// and half of the others. What is drawn is drawn from the seed. The last one only measures.
pub(crate) fn tests(is_named: bool) -> Vec<crate::Test> {
    let (seconds, minutes) = TESTS.split_at(SECONDS);
    let (mut seconds, mut minutes) = (seconds.to_vec(), minutes.to_vec());
    let mut chance = Chance::of(seed());
    match std::env::var_os("RALPH_PROOF") {
        Some(_) if is_full() => {}
        None => {
            minutes.clear();
            if !is_named {
                chance.shuffle(&mut seconds[1..]);
                seconds.truncate(2);
            }
        }
        Some(_) => {
            minutes.pop();
            if !is_named {
                chance.shuffle(&mut minutes);
                minutes.truncate(minutes.len() / 2);
            }
        }
    }
    [seconds, minutes].concat()
}

const SECONDS: usize = 4;

const TESTS: &[crate::Test] = &[
    ("machines_finish_a_graph", runs::finished),
    ("a_conflict_and_a_red_criterion_send_tasks_back", runs::returned),
    ("machines_lose_their_power_and_start_again", harms::power),
    ("a_machine_dies_before_and_after_each_call_of_git", harms::every_call),
    ("machines_finish_a_graph_over_other_transports", runs::over_other_transports),
    ("machines_sleep_longer_than_a_lease_one_by_one_and_together", harms::sleep),
    ("the_remote_goes_away_and_comes_back", harms::gone),
    ("connections_break_and_fall_silent", harms::connections),
    ("receive_pack_dies_between_two_references", harms::receive_pack),
    ("a_stale_lock_blocks_a_reference_until_it_is_removed", harms::stale_lock),
    ("the_disk_of_the_server_is_full_for_a_while", harms::full_disk),
    ("two_clones_share_at_once", runs::shared_at_once),
    ("observers_that_live_shorter_than_a_lease_rob_nobody", runs::short_observers),
    ("a_backlog_of_finishes_outlives_its_integrator", runs::backlog),
    ("figures_of_machines_that_only_work", runs::figures),
];
