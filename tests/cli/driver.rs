//! The driver of headless rounds against a client that is a shell script: what it prints and how it
//! ends is the test's to say. What only the real client can show is in `tests/client/driver.rs`.

mod other_client;
mod rounds;
mod world;

use ralph_test_support::round;

#[test]
fn in_a_process_of_its_own() {
    round::carried_out();
}
