//! The command line of Ralph.

fn main() -> std::process::ExitCode {
    ralph::cli::run()
}
