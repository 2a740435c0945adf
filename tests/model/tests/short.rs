//! Every model with small bounds; `cargo run --release -p ralph-model` takes the full ones.

use ralph_model::{Reach, all, report};

#[test]
fn every_promise_holds_in_every_state_of_every_model() {
    assert_eq!(
        format!("{:?}", report(all(Reach::Short))),
        format!("{:?}", std::process::ExitCode::SUCCESS)
    );
}
