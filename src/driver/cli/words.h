#pragma once
// The words of a command line before and after CLI11 reads them: abbreviated flags, and what nobody knows.

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace tessera::cli {

/// The command among the words and its index: the first word that is no flag of the program itself. Null where none is named.
const CLI::App* find_command(const CLI::App& app, const std::vector<std::string>& words, size_t* index);

/// The words with flags of the command written out, as argparse takes them: `run --output x.npz` => `run --outputs x.npz`.
/// A CLI::ParseError names the flags that an abbreviation could mean, where there are several.
std::vector<std::string> with_whole_flags(const CLI::App& app, std::vector<std::string> words);

/// What to say of words that the parser left over: all of them in order, each with what may have been meant.
std::string unknown_words(const CLI::App& app, const std::vector<std::string>& words);

}  // namespace tessera::cli
