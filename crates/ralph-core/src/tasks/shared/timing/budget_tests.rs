use super::*;

fn seconds(list: &[u64]) -> Vec<Duration> {
    list.iter().copied().map(Duration::from_secs).collect()
}

#[track_caller]
fn check(live: usize, since: &[u64], expected: u64) {
    assert_eq!(
        push_wait(6, live, &seconds(since)),
        Duration::from_secs(expected),
        "{live} {since:?}"
    );
}

#[test]
fn a_machine_takes_its_share_of_the_limit() {
    check(1, &[], 0);
    check(1, &[0, 5, 10, 20, 59], 0);
    check(1, &[0, 5, 10, 20, 30, 59], 1);
    check(1, &[59, 0, 30, 5, 20, 10, 70], 1);
    check(2, &[0, 40], 0);
    check(2, &[0, 10, 40], 20);
    check(6, &[20], 40);
    check(16, &[20], 140);
    check(16, &[160], 0);
}

#[test]
fn all_machines_together_stay_within_the_limit() {
    for live in [1_usize, 2, 3, 4, 5, 6, 7, 16, 100] {
        let mut pushes: Vec<Vec<Duration>> = vec![Vec::new(); live];
        let mut all = Vec::new();
        for second in 0..1_200 {
            let now = Duration::from_secs(second);
            for machine in &mut pushes {
                let since: Vec<Duration> = machine.iter().map(|at| now - *at).collect();
                if push_wait(6, live, &since).is_zero() {
                    machine.push(now);
                    all.push(second);
                }
            }
        }
        // Machines of the same age push together, so a longer window is looked at.
        let window = 60 * live.max(6) as u64;
        for from in 0..=1_200_u64.saturating_sub(window) {
            let n = all.iter().filter(|at| (from..from + window).contains(at)).count() as u64;
            assert!(n <= 6 * window / 60, "{live} machines pushed {n} times in {window} s");
        }
    }
}

#[test]
fn a_limit_of_nothing_is_one_push_in_a_minute() {
    assert_eq!(push_wait(0, 0, &seconds(&[1])), Duration::from_secs(59));
}
