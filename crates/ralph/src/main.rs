//! The entry point of `ralph`.

fn main() -> std::process::ExitCode {
    ralph::cli::run()
}
