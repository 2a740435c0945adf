# Installs what a formula describes from local archives, in the folders that Homebrew would use: a trial
# without Homebrew, which needs its own home and the network.
#
# usage: ruby try.rb FORMULA ARCHIVES PREFIX     prints the folder that PATH gets

require "digest"
require "fileutils"
require "pathname"

formula, archives, prefix = ARGV.map { |path| Pathname(path).expand_path }
PREFIX = prefix
SYSTEM = RUBY_PLATFORM.include?("darwin") ? :macos : :linux
PROCESSOR = `uname -m`.match?(/arm64|aarch64/) ? :arm : :intel

class Pathname
  # As Homebrew has it: paths, or one path with its new name.
  def install(*sources)
    mkpath
    sources.flatten.each do |source|
      from, to = source.is_a?(Hash) ? source.first : [source, File.basename(source)]
      raise "the formula installs `#{from}`, which does not exist" unless File.exist?(from)

      FileUtils.cp(from, self / to)
    end
  end
end

class Formula
  class << self
    attr_reader :facts

    def inherited(formula)
      super
      formula.instance_variable_set(:@facts, {})
      @@formula = formula
    end

    def present = @@formula

    %i[desc homepage version license url sha256].each do |name|
      define_method(name) { |value| @facts[name] = value }
    end

    def on_macos(&block) = SYSTEM == :macos && class_eval(&block)
    def on_linux(&block) = SYSTEM == :linux && class_eval(&block)
    def on_arm(&block) = PROCESSOR == :arm && class_eval(&block)
    def on_intel(&block) = PROCESSOR == :intel && class_eval(&block)
    def test(&block) = @facts[:test] = block

    def depends_on(system) = (raise "the formula is for #{system} only" if %i[macos linux].include?(system) && system != SYSTEM)
  end

  def version = self.class.facts.fetch(:version)
  def keg = PREFIX / "Cellar/ralph" / version
  def bin = keg / "bin"
  def man1 = keg / "share/man/man1"
  def bash_completion = keg / "etc/bash_completion.d"
  def zsh_completion = keg / "share/zsh/site-functions"
  def fish_completion = keg / "share/fish/vendor_completions.d"
  def shell_output(line) = `#{line}`

  def assert_equal(expected, found)
    raise "expected `#{expected}`, found `#{found}`" unless expected == found
  end
end

load formula.to_s
facts = Formula.present.facts
archive = archives / File.basename(facts.fetch(:url))
raise "`#{archive}` has another checksum than the formula" unless Digest::SHA256.file(archive).hexdigest == facts.fetch(:sha256)

installed = Formula.present.new
build = PREFIX / "build"
build.mkpath
system("tar", "-xzf", archive.to_s, "-C", build.to_s, "--strip-components=1", exception: true)
Dir.chdir(build) { installed.install }
build.rmtree

# Homebrew links a keg's files into its prefix, and `opt/NAME` to the keg.
[PREFIX / "bin", PREFIX / "opt"].each(&:mkpath)
FileUtils.ln_sf("../Cellar/ralph/#{installed.version}", PREFIX / "opt/ralph")
installed.bin.children.each { |file| FileUtils.ln_sf(file.relative_path_from(PREFIX / "bin"), PREFIX / "bin") }
installed.instance_exec(&facts.fetch(:test))
raise "the formula has no caveats" if installed.caveats.strip.empty?

puts PREFIX / "bin"
