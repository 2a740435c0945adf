//! .NET solutions and projects.

use super::{Found, ProjectFiles};

pub(super) fn find(files: &ProjectFiles) -> Found {
    let any = files.has_ending(&[".sln", ".slnx", ".csproj", ".fsproj", ".vbproj"]);
    Found { tests: any.then(|| "dotnet test".to_owned()), check: None }
}
