//! Reads what a Mach-O executable of 64 bits asks of the system that starts it.
//!
//! The numbers are those of Apple's `mach-o/loader.h`, `mach-o/nlist.h` and `cs_blobs.h`.

use ralph_core::text::hex::sha256;

const MAGIC_64: u32 = 0xfeed_facf;
const HEADER_LENGTH: usize = 32;
const EXECUTABLE: u32 = 2;
const POSITION_INDEPENDENT: u32 = 0x0020_0000;

const LC_SYMTAB: u32 = 0x02;
/// Load, load weakly, re-export, load lazily, load upward.
const DYLIBS: [u32; 5] = [0x0c, 0x8000_0018, 0x8000_001f, 0x20, 0x8000_0023];
const LC_CODE_SIGNATURE: u32 = 0x1d;
const LC_VERSION_MIN_MACOSX: u32 = 0x24;
const LC_BUILD_VERSION: u32 = 0x32;
const LC_RPATH: u32 = 0x8000_001c;
const LC_MAIN: u32 = 0x8000_0028;
const PLATFORM_MACOS: u32 = 1;

/// What the load commands of an executable say.
#[derive(Debug, Default)]
pub(crate) struct MachO {
    pub(crate) processor: u32,
    pub(crate) is_position_independent: bool,
    pub(crate) has_entry: bool,
    /// The oldest macOS that starts it: major and minor.
    pub(crate) minimum_system: Option<(u32, u32)>,
    pub(crate) libraries: Vec<String>,
    pub(crate) library_folders: Vec<String>,
    pub(crate) debug_symbols: usize,
    /// Whether each page has the digest that the signature gives for it.
    pub(crate) signature: Option<Result<(), String>>,
}

impl MachO {
    /// # Panics
    /// If the bytes are not an executable of this form.
    pub(crate) fn read(bytes: &[u8]) -> MachO {
        assert_eq!(little(bytes, 0), MAGIC_64, "its first bytes");
        assert_eq!(little(bytes, 12), EXECUTABLE, "its type of file");
        let mut found = MachO {
            processor: little(bytes, 4),
            is_position_independent: little(bytes, 24) & POSITION_INDEPENDENT != 0,
            ..MachO::default()
        };
        let mut at = HEADER_LENGTH;
        for _ in 0..little(bytes, 16) {
            let length = little(bytes, at + 4) as usize;
            found.take(bytes, &bytes[at..at + length]);
            at += length;
        }
        assert_eq!(at, HEADER_LENGTH + little(bytes, 20) as usize, "the length of its commands");
        found
    }

    fn take(&mut self, bytes: &[u8], command: &[u8]) {
        let field = |at| little(command, at);
        match field(0) {
            LC_MAIN => self.has_entry = true,
            LC_VERSION_MIN_MACOSX => self.minimum_system = Some(version(field(8))),
            LC_BUILD_VERSION => {
                assert_eq!(field(8), PLATFORM_MACOS, "its platform");
                self.minimum_system = Some(version(field(12)));
            }
            LC_RPATH => self.library_folders.push(text(&command[field(8) as usize..])),
            LC_SYMTAB => self.debug_symbols = debug_symbols(bytes, field(8), field(12)),
            LC_CODE_SIGNATURE => {
                let (from, length) = (field(8) as usize, field(12) as usize);
                self.signature = Some(verify(bytes, &bytes[from..from + length]));
            }
            dylib if DYLIBS.contains(&dylib) => {
                self.libraries.push(text(&command[field(8) as usize..]));
            }
            _ => {}
        }
    }
}

/// The symbols for a debugger, which name the folders of the sources.
fn debug_symbols(bytes: &[u8], offset: u32, count: u32) -> usize {
    const ENTRY_LENGTH: usize = 16;
    const DEBUG: u8 = 0xe0;
    let entries = &bytes[offset as usize..][..count as usize * ENTRY_LENGTH];
    entries.chunks(ENTRY_LENGTH).filter(|entry| entry[4] & DEBUG != 0).count()
}

/// Compares the digests in an embedded signature with the pages that they are of, as the kernel of a Mac with
/// arm64 does before it runs a page.
fn verify(bytes: &[u8], signature: &[u8]) -> Result<(), String> {
    const EMBEDDED: u32 = 0xfade_0cc0;
    const CODE_DIRECTORY: u32 = 0xfade_0c02;
    const SHA256: (u8, u8) = (32, 2);
    if big(signature, 0) != EMBEDDED {
        return Err("no embedded signature".into());
    }
    let blobs = (0..big(signature, 8) as usize)
        .map(|index| &signature[big(signature, 12 + 8 * index + 4) as usize..]);
    let directory =
        blobs.into_iter().find(|blob| big(blob, 0) == CODE_DIRECTORY).ok_or("no directory")?;
    let (hashes, pages) = (big(directory, 16) as usize, big(directory, 28) as usize);
    let code = &bytes[..big(directory, 32) as usize];
    if (directory[36], directory[37]) != SHA256 {
        return Err("another digest than SHA-256".into());
    }
    let page_length = 1 << directory[39];
    if code.len().div_ceil(page_length) != pages {
        return Err(format!("{pages} digests for {} bytes", code.len()));
    }
    for (number, page) in code.chunks(page_length).enumerate() {
        let digest = &directory[hashes + 32 * number..][..32];
        let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        if sha256(page) != digest {
            return Err(format!("page {number} of {pages} is not what was signed"));
        }
    }
    Ok(())
}

/// `X.Y` of a version packed as `xxxx.yy.zz`.
fn version(packed: u32) -> (u32, u32) {
    (packed >> 16, (packed >> 8) & 0xff)
}

fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

fn little(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

fn big(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap())
}
