// SPDX-License-Identifier: Apache-2.0
#include "launcher/options/command_line.hpp"

#include <algorithm>
#include <array>
#include <boost/program_options.hpp>
#include <iostream>
#include <map>
#include <numeric>
#include <sstream>

#include "runtime/core/error.hpp"
#include "runtime/core/read_file.hpp"

namespace lockstep::launcher {

namespace po = boost::program_options;

namespace {

using Index = std::map<std::string, const Option*>;

// What a user typed as an option, with its dashes, for messages.
struct Word {
    std::string typed, name, value;
    enum class Value { none, attached } has = Value::none;
};

std::size_t distance(const std::string& a, const std::string& b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
            diagonal = row[j];
            row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
        }
    }
    return row[b.size()];
}

// Options that users of other tools type out of habit, and what to type here.
struct Habit {
    const char* name;
    const char* instead;
};
constexpr std::array habits{
    Habit{"task", "prepare the text with `lockstep prepare` and give --data DIR"},
    Habit{"t", "prepare the text with `lockstep prepare` and give --data DIR"},
    Habit{"gpu",
          "each rank takes the GPU of its local rank; CUDA_VISIBLE_DEVICES says which there are"},
    Habit{"no-cuda", "it is --device cpu here"},
    Habit{"datatype", "evaluate a split by --split train, valid or test"},
    Habit{"dt", "evaluate a split by --split train, valid or test"},
    Habit{"nus", "it is of the optimizers qhm and qhadam, which are not here"},
    Habit{"nu", "it is of the optimizers qhm and qhadam, which are not here"},
    Habit{"gradient-accumulation-steps", "it is --update-freq here"},
    Habit{"per-device-train-batch-size", "it is --batchsize here"},
};

[[noreturn]] void unknown(const std::string& typed, const std::string& name, const Index& index) {
    for (const Habit& habit : habits) {
        if (name == habit.name)
            throw Error(ErrorKind::config, typed + ": no such option; " + habit.instead);
    }
    const auto nearest = std::min_element(index.begin(), index.end(), [&](auto& a, auto& b) {
        return distance(name, a.second->name) < distance(name, b.second->name);
    });
    throw Error(ErrorKind::config, typed + ": no such option; did you mean --" +
                                       nearest->second->name + "? (--help lists all)");
}

Index index_of(const std::vector<OptionTable>& tables) {
    Index index;
    for (const OptionTable& table : tables) {
        for (const Option& option : table.options()) {
            index[option.name] = &option;
            for (const std::string& alias : option.aliases) index[alias] = &option;
        }
    }
    return index;
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
    Word word{typed.substr(0, equals), typed.substr(dashes, equals - dashes), "",
              Word::Value::none};
    if (equals != std::string::npos) {
        word.value = typed.substr(equals + 1);
        word.has = Word::Value::attached;
    }
    std::replace(word.name.begin(), word.name.end(), '_', '-');
    return word;
}

// ParlAI's short forms have several letters and its values may begin with a dash (--truncate -1);
// Boost reads neither, so the words are brought into its one unambiguous form: --name=value.
class Normaliser {
public:
    Normaliser(const std::vector<std::string>& args, const Index& index)
        : args_(args), index_(index) {}

    std::vector<std::string> words(std::vector<std::string>& rest) {
        std::vector<std::string> out;
        for (; at_ < args_.size(); ++at_) {
            if (args_[at_] == "--") {
                rest.assign(args_.begin() + static_cast<std::ptrdiff_t>(at_) + 1, args_.end());
                break;
            }
            if (!looks_like_option(args_[at_], index_)) {
                throw Error(ErrorKind::config,
                            "'" + args_[at_] + "' is not an option; options begin with --");
            }
            option(split_word(args_[at_]), out);
        }
        return out;
    }

private:
    void option(const Word& word, std::vector<std::string>& out) {
        const auto found = index_.find(word.name);
        if (found == index_.end()) unknown(word.typed, word.name, index_);
        const Option& option = *found->second;
        const std::string head = "--" + option.name + "=";
        if (word.has == Word::Value::attached) {
            if (word.value.empty()) missing(word.typed);
            out.push_back(head + word.value);
        } else if (option.arity == Arity::flag) {
            out.push_back(head + (next_is_bool() ? args_[++at_] : "true"));
        } else if (option.arity == Arity::one) {
            if (at_ + 1 >= args_.size() || args_[at_ + 1].empty() ||
                args_[at_ + 1].starts_with("--"))
                missing(word.typed);
            out.push_back(head + args_[++at_]);
        } else {
            const std::size_t before = out.size();
            while (at_ + 1 < args_.size() && !looks_like_option(args_[at_ + 1], index_)) {
                out.push_back(head + args_[++at_]);
            }
            if (out.size() == before) missing(word.typed);
        }
    }

    bool next_is_bool() const { return at_ + 1 < args_.size() && is_bool_word(args_[at_ + 1]); }
    [[noreturn]] static void missing(const std::string& typed) {
        throw Error(ErrorKind::config, typed + ": needs a value");
    }

    const std::vector<std::string>& args_;
    const Index& index_;
    std::size_t at_ = 0;
};

po::options_description description_of(const std::vector<OptionTable>& tables) {
    po::options_description all;
    for (const OptionTable& table : tables) {
        po::options_description group(table.caption(), 100, 60);
        for (const Option& option : table.options()) {
            std::string help = option.help;
            for (const std::string& alias : option.aliases) help += " (-" + alias + ")";
            if (!option.default_text.empty()) help += " [" + option.default_text + "]";
            auto* value = po::value<std::vector<std::string>>();
            value->value_name(option.arity == Arity::flag ? "BOOL" : option.placeholder);
            group.add_options()(option.name.c_str(), value, help.c_str());
        }
        all.add(group);
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

void read_config(const std::string& path, const po::options_description& known,
                 po::variables_map& values, const Index& index) {
    std::istringstream in(read_file(path, "the --config file cannot be read"));
    std::stringstream normal;  // underscores as dashes in names, as on the command line
    for (std::string line; std::getline(in, line);) {
        const auto end = std::min(line.find('='), line.size());
        std::replace(line.begin(), line.begin() + static_cast<std::ptrdiff_t>(end), '_', '-');
        normal << line << '\n';
    }
    try {
        po::store(po::parse_config_file(normal, known), values);
    } catch (const po::unknown_option& e) {
        unknown(path + ": " + e.get_option_name(), e.get_option_name(), index);
    } catch (const po::error& e) {
        throw Error(ErrorKind::config, path + ": " + e.what());
    }
}

po::variables_map values_of(const std::vector<std::string>& words,
                            const std::vector<OptionTable>& tables, const Index& index) {
    const po::options_description known = description_of(tables);
    po::variables_map values;
    po::store(
        po::command_line_parser(words)
            .options(known)
            .style(po::command_line_style::allow_long | po::command_line_style::long_allow_adjacent)
            .run(),
        values);
    if (values.count("config")) {
        read_config(values["config"].as<std::vector<std::string>>().back(), known, values, index);
    }
    return values;
}

}  // namespace

CommandLine parse_command_line(const std::vector<std::string>& args,
                               const std::vector<OptionTable>& own) {
    CommandLine line;
    std::string config;
    std::vector<OptionTable> tables = own;
    tables.push_back(general_table(config, line.help, line.dump_config));
    const Index index = index_of(tables);
    const auto words = Normaliser(args, index).words(line.rest);
    const po::variables_map values = values_of(words, tables, index);
    for (const auto& [name, value] : values) {
        const auto given = value.as<std::vector<std::string>>();
        const Option& option = *index.at(name);
        // A repeated option means its last value; a list collects.
        option.assign(option.arity == Arity::many ? given : std::vector{given.back()});
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
    const auto words = Normaliser(args, index).words(rest);
    std::ostringstream out;
    for (const auto& [name, value] : values_of(words, tables, index)) {
        if (name == "config" || name == "dump-config") continue;
        const auto given = value.as<std::vector<std::string>>();
        const bool list = index.at(name)->arity == Arity::many;
        for (std::size_t i = list ? 0 : given.size() - 1; i < given.size(); ++i) {
            out << name << " = " << given[i] << '\n';
        }
    }
    return out.str();
}

std::vector<std::pair<std::string, std::string>> dumped_options(const std::string& lines) {
    std::vector<std::pair<std::string, std::string>> options;
    std::istringstream in(lines);
    const std::string between = " = ";
    for (std::string line; std::getline(in, line);) {
        const std::size_t at = line.find(between);
        if (at != std::string::npos)
            options.emplace_back(line.substr(0, at), line.substr(at + between.size()));
    }
    return options;
}

std::optional<CommandLine> parse_or_answer(const std::string& usage,
                                           const std::vector<std::string>& args,
                                           const std::vector<OptionTable>& tables) {
    const CommandLine line = parse_command_line(args, tables);
    if (line.help) {
        std::cout << help_text(usage, tables);
    } else if (line.dump_config) {
        std::cout << dump_config(args, tables);
    } else {
        return line;
    }
    return std::nullopt;
}

}  // namespace lockstep::launcher
