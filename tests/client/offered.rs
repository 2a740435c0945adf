//! What the client offers of Ralph's commands.

use ralph_test_support::fake_api::{Script, StandIn};

use crate::Test;
use crate::kept::installed;

pub(crate) const TESTS: &[Test] = tests![ralph_is_the_first_of_our_commands_that_the_client_offers];

/// Measured with 2.1.328: of the names that begin with what is typed, the client offers the shortest first. A skill that
/// it does not offer cannot be typed either (`user-invocable: false`), and skills have no aliases.
fn ralph_is_the_first_of_our_commands_that_the_client_offers() {
    let world = installed();
    let stand_in = StandIn::start(Script::new()).unwrap();
    let terminal = world.terminal(&stand_in, &[]);
    terminal.type_text("/ra").wait_for("/ralph-plan");
    let screen = terminal.screen();
    let offered: Vec<&str> = screen
        .lines()
        .filter_map(|line| line.trim_start_matches([' ', '❯']).split_whitespace().next())
        .filter(|word| word.starts_with("/ra") && word.len() > "/ra".len())
        .collect();
    assert_eq!(offered[0], "/ralph", "{screen}");
}
