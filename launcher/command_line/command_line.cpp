// SPDX-License-Identifier: Apache-2.0
#include "launcher/command_line/command_line.hpp"

#include <algorithm>
#include <boost/program_options.hpp>
#include <cctype>
#include <cerrno>
#include <filesystem>
#include <iostream>
#include <map>
#include <sstream>
#include <system_error>

#include "launcher/command_line/config_file.hpp"
#include "launcher/command_line/habits.hpp"
#include "launcher/command_line/spelling.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/printable.hpp"
#include "runtime/core/read_file.hpp"
#include "runtime/core/system_failure.hpp"

namespace lockstep::launcher {

namespace fs = std::filesystem;
namespace po = boost::program_options;

namespace {

// Maps long names and short forms to options.
using Index = std::map<std::string, const Option*>;

// Holds an option as the user typed it, with its dashes, for messages.
struct Word {
    std::string typed, name, value;
    enum class Value { none, attached } has = Value::none;
};

// Holds the values that were given to one option. `where` is its line in a --config file, for
// messages ("run.conf:3: "), or its last line when there are several.
struct Setting {
    const Option* option;
    std::vector<std::string> values;
    std::string where;
};
using Settings = std::map<std::string, Setting>;  // the key is the option's long name

void replace_all(std::string& text, const std::string& from, const std::string& to) {
    for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
        text.replace(at, from.size(), to);
}

// What tells other programs to call `lockstep prepare` is said in prepare itself, too.
std::string hint_for(std::string hint, const Index& index) {
    if (!index.contains("valid-fraction")) return hint;
    replace_all(hint, "lockstep prepare --", "--");
    replace_all(hint, "`lockstep prepare`", "this program");
    if (!hint.starts_with("it is -") || hint.find(" here") == std::string::npos) return hint;
    const std::size_t name = hint.find_first_not_of('-', hint.find('-'));
    if (index.contains(hint.substr(name, hint.find_first_of(" ,;:", name) - name))) return hint;
    hint.insert(0, "it belongs to training: ");
    replace_all(hint, " here", " there");
    return hint;
}

// Names the option for a path that stands alone, as far as the program has one for it.
std::string instead_of_path(const std::string& word, const Index& index) {
    std::error_code unknown;
    const auto holds = [&](const char* file) { return fs::exists(fs::path(word) / file, unknown); };
    const auto give = [&](const std::string& what, const char* option) {
        return "; give " + what + " by " + option + " " + shown(word);
    };
    const auto takes = [&](const char* name) {
        const auto option = index.find(name);
        return option != index.end() && option->second->instead.empty();
    };
    const bool data = takes("data"), model = takes("mf"), text = takes("input");
    if (data && holds("dataset.json")) return give("the data", "--data");
    if (model && (holds("config.json") || holds("checkpoints")))
        return give("the model's folder", "-mf");
    if (text && fs::is_regular_file(word, unknown)) return give("the text", "--input");
    if (data && model) return "; a model's folder is given by -mf, data by --data";
    if (model) return give("the model's folder", "-mf");
    if (text) return give("a text", "--input");
    return data ? give("the data", "--data") : "";
}

[[noreturn]] void unknown(const std::string& typed, const std::string& name, const Index& index) {
    const std::string instead = hint_for(instead_of_option(name), index);
    if (!instead.empty()) throw Error(ErrorKind::config, typed + ": no such option; " + instead);
    std::vector<std::string> names;
    for (const auto& [known, option] : index) {
        if (option->instead.empty()) names.push_back(option->name);
    }
    const std::string bare = name.substr(std::min(name.find_first_not_of('-'), name.size()));
    const std::string meant = probably_meant(bare, names);
    throw Error(ErrorKind::config, typed + ": no such option; " +
                                       (meant.empty() ? "--help lists all"
                                        : bare == meant && !typed.starts_with('-')
                                            ? "leave out its dashes"
                                            : "did you mean --" + meant + "? (--help lists all)"));
}

const Option& find_option(const std::string& typed, const std::string& name, const Index& index) {
    const auto found = index.find(name);
    if (found == index.end()) unknown(typed, name, index);
    const Option& option = *found->second;
    if (!option.instead.empty())
        throw Error(ErrorKind::config, typed + ": not an option here; " + option.instead);
    return option;
}

// An option is valid when at least one table has it, even if another table refuses it.
Index index_of(const std::vector<OptionTable>& tables) {
    Index index;
    const auto add = [&index](const std::string& name, const Option& option) {
        const Option*& known = index[name];
        if (known == nullptr || option.instead.empty()) known = &option;
    };
    for (const OptionTable& table : tables) {
        for (const Option& option : table.options()) {
            add(option.name, option);
            for (const std::string& alias : option.aliases) add(alias, option);
        }
    }
    return index;
}

bool is_list(const Option& option) {
    return option.arity == Arity::many || option.arity == Arity::line;
}

bool looks_like_option(const std::string& word, const Index& index) {
    if (word.size() < 2 || word[0] != '-') return false;
    if (word[1] == '-') return true;
    return index.contains(word.substr(1, word.find('=') - 1)) ||
           !(std::isdigit(word[1]) || word[1] == '.');
}

Word split_word(const std::string& typed) {
    const std::size_t dashes = typed.starts_with("--") ? 2 : 1;
    const std::size_t equals = typed.find('=');
    Word word{shown(typed.substr(0, equals)), typed.substr(dashes, equals - dashes), "",
              Word::Value::none};
    if (equals != std::string::npos) {
        word.value = typed.substr(equals + 1);
        word.has = Word::Value::attached;
    }
    std::replace(word.name.begin(), word.name.end(), '_', '-');
    return word;
}

[[noreturn]] void missing(const std::string& typed) {
    throw Error(ErrorKind::config, typed + ": needs a value");
}

// A list of texts may be meant to have the next word, which begins with a dash and is no option.
[[noreturn]] void missing(const Word& word, const std::string& next, const Index& index) {
    if (next.starts_with("-") && !index.contains(split_word(next).name))
        throw Error(ErrorKind::config, word.typed +
                                           ": needs a value; one that begins with a dash "
                                           "is given behind an equals sign: " +
                                           word.typed + "=" + shown(next));
    missing(word.typed);
}

[[noreturn]] void stray(const std::string& word, const Index& index) {
    throw Error(ErrorKind::config, "'" + shown(word) + "' is not an option; options begin with --" +
                                       instead_of_path(word, index));
}

// Tells Boost which words are options and which are their values. None of its own styles knows
// short forms of several letters (-bs), underscores, a flag that only a word of truth may follow,
// and a value that begins with a dash (--prompt -x); and it takes twenty thousand files one by one.
class Style {
public:
    // `behind` stands behind the last word.
    Style(const Index& index, std::string behind) : index_(&index), behind_(std::move(behind)) {}

    std::vector<po::option> operator()(std::vector<std::string>& words) const {
        if (!looks_like_option(words.front(), *index_)) stray(words.front(), *index_);
        const Word word = split_word(words.front());
        const Option& option = find_option(word.typed, word.name, *index_);
        po::option read;
        read.string_key = option.name;
        words.erase(words.begin());
        if (word.has == Word::Value::attached) {
            if (word.value.empty()) missing(word.typed);
            read.value = {word.value};
            return {read};
        }
        read.value = taken(words, words_of(option, words));
        if (read.value.empty() && option.arity == Arity::flag) read.value = {"true"};
        if (!read.value.empty()) return {read};
        if (option.arity != Arity::many) missing(word.typed);
        missing(word, words.empty() ? behind_ : words.front(), *index_);
    }

private:
    // Returns how many of the next words are the option's values.
    std::ptrdiff_t words_of(const Option& option, const std::vector<std::string>& words) const {
        const auto ends = [&](const std::string& word) { return looks_like_option(word, *index_); };
        if (option.arity == Arity::many) return std::ranges::find_if(words, ends) - words.begin();
        if (words.empty() || words.front().empty()) return 0;
        const std::string& next = words.front();
        if (option.arity == Arity::flag) return is_bool_word(next) ? 1 : 0;
        if (option.arity == Arity::line) return 1;
        const bool is_option = next.starts_with('-') && index_->contains(split_word(next).name);
        return next.starts_with("--") || is_option ? 0 : 1;
    }

    static std::vector<std::string> taken(std::vector<std::string>& words, std::ptrdiff_t count) {
        const auto end = words.begin() + count;
        std::vector<std::string> front(words.begin(), end);
        words.erase(words.begin(), end);
        return front;
    }

    const Index* index_;
    std::string behind_;
};

// No option needs a value as Boost sees it, because the style has already seen to that.
po::options_description parsed_description(const Index& index) {
    po::options_description all;
    for (const auto& [name, option] : index) {
        if (name != option->name) continue;
        auto* value = po::value<std::vector<std::string>>()->implicit_value({}, "");
        if (is_list(*option)) value->multitoken();
        all.add_options()(name.c_str(), value);
    }
    return all;
}

// A repeated option replaces the earlier one, and a repeated list goes on. In argparse it is
// replaced, too, and what was typed first is lost without a word.
Settings read_words(const std::vector<std::string>& args, const Index& index,
                    std::vector<std::string>& rest) {
    const auto lone = std::ranges::find(args, "--");  // no option has it as its value
    if (lone != args.end()) rest.assign(lone + 1, args.end());
    const auto described = parsed_description(index);
    const auto parsed =
        po::command_line_parser({args.begin(), lone})
            .options(described)
            .style(po::command_line_style::allow_long | po::command_line_style::long_allow_adjacent)
            .extra_style_parser(Style(index, lone == args.end() ? "" : *lone))
            .run();
    Settings settings;
    for (const po::option& read : parsed.options) {
        Setting& setting = settings[read.string_key];
        setting.option = index.at(read.string_key);
        if (!is_list(*setting.option)) setting.values.clear();
        setting.values.insert(setting.values.end(), read.value.begin(), read.value.end());
    }
    return settings;
}

po::options_description description_of(const std::vector<OptionTable>& tables) {
    po::options_description all;
    for (const OptionTable& table : tables) {
        po::options_description group(table.caption(), 100, 60);
        for (const Option& option : table.options()) {
            if (!option.instead.empty()) continue;
            std::string help = option.help;
            for (const std::string& alias : option.aliases) help += " (-" + alias + ")";
            if (!option.default_text.empty()) help += " [" + option.default_text + "]";
            auto* value = po::value<std::vector<std::string>>();
            value->value_name(option.arity == Arity::flag ? "BOOL" : option.placeholder);
            group.add_options()(option.name.c_str(), value, help.c_str());
        }
        if (!group.options().empty()) all.add(group);
    }
    return all;
}

OptionTable general_table(std::string& config, bool& help, bool& dump) {
    OptionTable table("General");
    table.text("config", config, "FILE", "read options from FILE, one `name = value` a line");
    table.flag("dump-config", dump, "print the options given as such a file, and stop");
    table.flag("help,h", help, "show this text");
    return table;
}

// Adds the settings of the --config file that the command line does not have.
void add_config(const std::string& path, const Index& index, Settings& settings) {
    Settings read;
    for (const ConfigLine& line :
         read_config_lines(read_file(path, "the --config file cannot be read"), path)) {
        const std::string where = path + ":" + std::to_string(line.number) + ": ";
        const Option& option = find_option(where + shown(line.name), line.name, index);
        if (option.name == "config")
            throw Error(ErrorKind::config, where + "config: a file names no other file");
        if (line.value.empty()) missing(where + line.name);
        Setting& setting = read[option.name];
        setting.option = &option;
        setting.values.push_back(line.value);
        setting.where = where;
    }
    settings.merge(read);
}

// Several lines of a file are the values of a list. The last line counts for any other option.
std::vector<std::string> meant_values(const Setting& setting) {
    if (is_list(*setting.option)) return setting.values;
    return {setting.values.back()};
}

Settings settings_of(const std::vector<std::string>& args, const Index& index,
                     std::vector<std::string>& rest) {
    Settings settings = read_words(args, index, rest);
    const auto config = settings.find("config");
    if (config != settings.end()) add_config(config->second.values.back(), index, settings);
    return settings;
}

void assign(const Setting& setting) {
    try {
        setting.option->assign(meant_values(setting));
    } catch (const Error& e) {
        if (setting.where.empty()) throw;
        throw Error(e.kind(), setting.where + e.what());
    }
}

}  // namespace

CommandLine parse_command_line(const std::vector<std::string>& args,
                               const std::vector<OptionTable>& own) {
    CommandLine line;
    std::string config;
    std::vector<OptionTable> tables = own;
    tables.push_back(general_table(config, line.help, line.dump_config));
    const Index index = index_of(tables);
    for (const auto& [name, setting] : settings_of(args, index, line.rest)) {
        assign(setting);
        line.given.insert(name);
    }
    return line;
}

std::string help_text(const std::string& usage, const std::vector<OptionTable>& own) {
    std::string config;
    bool help = false, dump = false;
    std::vector<OptionTable> tables = own;
    tables.push_back(general_table(config, help, dump));
    std::ostringstream out;
    out << usage << "\n" << description_of(tables);
    return out.str();
}

std::string dump_config(const std::vector<std::string>& args, const std::vector<OptionTable>& own) {
    std::string config;
    bool help = false, dump = false;
    std::vector<OptionTable> tables = own;
    tables.push_back(general_table(config, help, dump));
    const Index index = index_of(tables);
    std::vector<std::string> rest;
    std::string lines;
    for (const auto& [name, setting] : settings_of(args, index, rest)) {
        if (name == "config" || name == "dump-config") continue;
        for (const std::string& value : meant_values(setting)) lines += config_line(name, value);
    }
    return lines;
}

std::vector<std::pair<std::string, std::string>> dumped_options(const std::string& lines) {
    std::vector<std::pair<std::string, std::string>> options;
    std::istringstream in(lines);
    for (std::string line; std::getline(in, line);) {
        try {
            for (const ConfigLine& read : read_config_lines(line, ""))
                options.emplace_back(read.name, read.value);
        } catch (const Error&) {
            continue;
        }
    }
    return options;
}

std::optional<CommandLine> parse_or_answer(const std::string& usage,
                                           const std::vector<std::string>& args,
                                           const std::vector<OptionTable>& tables) {
    const CommandLine line = parse_command_line(args, tables);
    if (!line.help && !line.dump_config) return line;
    errno = 0;
    std::cout << (line.help ? help_text(usage, tables) : dump_config(args, tables)) << std::flush;
    if (!std::cout)
        throw SystemFailure("standard output cannot be written" +
                                (errno == 0 ? "" : ": " + std::generic_category().message(errno)),
                            errno);
    return std::nullopt;
}

}  // namespace lockstep::launcher
