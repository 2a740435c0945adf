use super::*;
use crate::state::{Criterion, Task};

/// Collected before the rule was written.
const EXCUSES: [&str; 64] = [
    "I am tired",
    "I'm tired.",
    "too hard",
    "This is too hard for me",
    "done",
    "All done",
    "The work is complete",
    "Everything is finished and all tests pass",
    "help",
    "Please help me",
    "I need help",
    "I am stuck",
    "I am stuck and do not know what to do",
    "I don't know how to continue",
    "I give up",
    "Giving up on this one",
    "This cannot be done",
    "The task is impossible",
    "It is not possible to satisfy the criterion",
    "I need a break",
    "Let me rest",
    "Give me a break",
    "Let me stop",
    "Please stop the loop",
    "Cancel the loop",
    "A person must cancel the loop",
    "Run ralph cancel",
    "End this session now please",
    "I have run out of ideas",
    "out of context",
    "I ran out of tokens",
    "Increase the maximum iterations of the loop",
    "The tests are flaky",
    "The tests fail and I cannot fix them",
    "cargo test fails",
    "Waiting",
    "waiting for the person",
    "A person must look at it",
    "Please review my work",
    "Please confirm that the task is done",
    "Accept my work as complete",
    "Please check whether it works",
    "Verify that everything is fine",
    "Mark the criteria as verified",
    "Tell me what to do next",
    "What should I do next?",
    "Should I continue?",
    "Can I stop now?",
    "Is this good enough?",
    "Are we done here?",
    "Can you do the rest?",
    "Give me more time",
    "Give me guidance",
    "Please provide instructions",
    "Provide more help",
    "I made good progress and implemented the parser",
    "Implemented 3 of 5 tasks",
    "The remaining tasks are low priority",
    "x",
    "...",
    "a person",
    "something must be done by a person",
    "I would rather not continue",
    "The user should finish this",
];

const HONEST: [&str; 53] = [
    "Create the account at example.com",
    "create the account",
    "make the account",
    "give me a key",
    "Provide the API key for Stripe in .env as STRIPE_KEY",
    "Please provide the password of the staging database",
    "Grant the bot write access to the repository",
    "Install docker on this machine, since I may not use sudo",
    "Install the Android SDK 34",
    "Decide whether the old endpoint is kept",
    "Decide between Postgres and MySQL for the new store",
    "Approve the deployment to production in GitHub",
    "Log in to npm with `npm login`",
    "Log into the AWS console and enable SES in eu-west-1",
    "Pay the invoice of the hosting account",
    "Choose the colour of the logo: blue or green",
    "You need to connect the phone by USB",
    "A person must sign the contract with the vendor",
    "The administrator has to open port 443 of the firewall",
    "Someone must plug in the dongle",
    "I need the credentials of the test account at PayPal",
    "Missing API token for Sentry",
    "An access token for the private registry is needed",
    "Waiting for access to the customer's repository",
    "Accept the licence of Xcode with `sudo xcodebuild -license`",
    "Confirm the email that PyPI sent to the owner",
    "Review the wording of the privacy page",
    "Start the docker daemon; it needs root",
    "Restart the VPN client",
    "Upload the signing certificate to the CI secrets",
    "Raise the disk quota of /data",
    "Free 20 GB on /dev/sda1",
    "Send me the sample file that the bug report mentions",
    "Which of the two payment providers is to be used?",
    "Which database do you want, Postgres or MySQL?",
    "Should the price be shown with or without VAT?",
    "May I delete the production data of 2019?",
    "Who owns the domain example.org?",
    "What is the password of the staging server?",
    "Where is the design of the settings page?",
    "The build needs GITHUB_TOKEN: set it in the shell and start the client again",
    "The tests need a display. Please install xvfb",
    "Solve the captcha at https://example.com/login",
    "Renew the TLS certificate of api.example.com",
    "Rotate the leaked key in AWS and tell me the new id",
    "Turn on two-factor authentication for the release account",
    "Register the OAuth application and put its id into config.toml",
    "Please ask the legal team whether GPL code may be linked",
    "Unlock the keychain",
    "Specify which countries the tax rule covers",
    "The owner must merge pull request 12 in the upstream repository",
    "Attach the oscilloscope to the board",
    "Buy a licence for the font",
];

fn open() -> LoopState {
    let criterion = Criterion { id: "AC-1".to_owned(), ..Criterion::default() };
    LoopState { acceptance_criteria: vec![criterion], ..LoopState::default() }
}

#[test]
fn an_excuse_is_no_action_of_a_person() {
    let taken: Vec<&str> =
        EXCUSES.into_iter().filter(|text| refusal(&open(), text).is_none()).collect();
    assert!(taken.is_empty(), "{taken:#?}");
}

#[test]
fn what_a_person_must_do_is_taken() {
    let refused: Vec<&str> =
        HONEST.into_iter().filter(|text| refusal(&open(), text).is_some()).collect();
    assert!(refused.is_empty(), "{refused:#?}");
}

#[test]
fn something_must_be_open() {
    let mut state = open();
    state.acceptance_criteria[0].verified = true;
    assert!(refusal(&state, HONEST[0]).unwrap().contains("no criterion and no task"));
    state.task_graph = vec![Task { status: TaskStatus::Failed, ..Task::default() }].into();
    assert_eq!(refusal(&state, HONEST[0]), None);
    state.task_graph[0].status = TaskStatus::Done;
    assert!(refusal(&state, HONEST[0]).is_some());
    assert!(refusal(&LoopState::default(), HONEST[0]).is_some());
}

#[test]
fn the_lists_hold_no_word_twice() {
    for list in [&ACTIONS[..], &WEAK, &OF_A_PERSON, &EMPTY, &ENDS, &PERSONS, &BETWEEN, &LACKS] {
        let mut sorted = list.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), list.len(), "{list:?}");
    }
}
