// SPDX-License-Identifier: Apache-2.0
#include "launcher/report/page.hpp"

#include <algorithm>
#include <filesystem>

#include "launcher/report/charts/html.hpp"
#include "launcher/report/charts/style.hpp"
#include "launcher/report/curves.hpp"
#include "launcher/report/memory_tables.hpp"
#include "launcher/report/summary.hpp"
#include "launcher/report/tables.hpp"
#include "launcher/report/time_section.hpp"

namespace lockstep::launcher::report {

namespace fs = std::filesystem;

namespace {

std::string section(const char* title, const std::string& content) {
    return std::string("<section>\n<h2>") + title + "</h2>\n" + content + "</section>\n";
}

// What a page of a server may do besides being shown: run the server's script, which asks only it.
constexpr const char* live_policy = "; script-src 'self'; connect-src 'self'; img-src data:";
// Without an icon a browser asks the server for one.
constexpr const char* live_head =
    "<style>.live { float: right; margin: 0; padding: 0 .5rem; font-size: .8rem; color: "
    "var(--faint); }</style>\n"
    "<link rel=\"icon\" href=\"data:,\"/>\n<script src=\"/live.js\" defer=\"defer\"></script>\n";
constexpr const char* live_state =
    "<p id=\"live\" class=\"live\">The page is refreshed in place where the browser runs its "
    "script.</p>\n";

enum class Delivery { file, server };

std::string head(const std::string& title, std::size_t runs, Delivery delivery) {
    const bool live = delivery == Delivery::server;
    return std::string(page_mark) +
           "<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
           "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
           "'unsafe-inline'" +
           (live ? live_policy : "") +
           "\"/>\n"
           "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
           "<title>" +
           title + "</title>\n<style>" + std::string(style()) + "</style>\n" +
           (live ? live_head : "") + "</head>\n<body class=\"" + (runs > 1 ? "several" : "one") +
           "\">\n" + (live ? live_state : "") + "<h1>" + title + "</h1>\n";
}

std::string details(const Run& run) {
    const auto if_known = [](const char* title, const std::string& content) {
        return content.empty() ? "" : section(title, content);
    };
    return if_known("When training had ended", final_table(run.history)) +
           if_known("Memory by part", memory_table(run)) +
           if_known("Sent by rank 0, by group", traffic_table(run)) +
           section("Validations", validation_table(run.history)) +
           section("Checkpoints", checkpoint_table(run)) + section("Options", options_table(run)) +
           section("Model", config_table(run));
}

std::string title_of(const std::vector<std::string>& labels) {
    if (labels.empty()) return "No training run yet";
    if (labels.size() == 1) return "Training run " + labels.front();
    return std::to_string(labels.size()) + " training runs";
}

std::vector<fs::path> parts_of(const std::string& folder) {
    std::vector<fs::path> parts;
    for (const fs::path& part : fs::path(folder).lexically_normal()) {
        if (!part.empty()) parts.push_back(part);
    }
    return parts;
}

std::vector<std::string> labels_of_runs(const std::vector<Run>& runs) {
    std::vector<std::string> folders;
    for (const Run& run : runs) folders.push_back(run.folder);
    return labels_of(folders);
}

std::string sections(const std::vector<Run>& runs, const std::vector<std::string>& labels) {
    std::string html = section("Summary", endings(runs, labels) + summary(runs, labels));
    if (runs.size() > 1) html += section("Where they differ", differences(runs, labels));
    html += section("Curves", "<div class=\"charts\">\n" + curves(runs, labels) + "</div>\n") +
            section("Where the time went", time_section(runs, labels));
    if (runs.size() == 1) return html + details(runs.front());
    std::string each;
    for (std::size_t i = 0; i < runs.size(); ++i) each += folded(labels[i], details(runs[i]));
    return html + section("Each run", each);
}

}  // namespace

std::vector<std::string> labels_of(const std::vector<std::string>& folders) {
    if (folders.size() <= 1) return folders;
    std::vector<std::vector<fs::path>> all;
    for (const std::string& folder : folders) all.push_back(parts_of(folder));
    std::size_t common = 0;
    const auto same = [&](const std::vector<fs::path>& parts) {
        return common + 1 < parts.size() && common < all.front().size() &&
               parts[common] == all.front()[common];
    };
    while (std::all_of(all.begin(), all.end(), same)) ++common;
    std::vector<std::string> labels;
    for (const auto& parts : all) {
        fs::path label;
        for (std::size_t i = common; i < parts.size(); ++i) label /= parts[i];
        labels.push_back(label);
    }
    return labels;
}

std::string page(const std::vector<Run>& runs) {
    const std::vector<std::string> labels = labels_of_runs(runs);
    return head(escaped(title_of(labels)), runs.size(), Delivery::file) + sections(runs, labels) +
           "</body>\n</html>\n";
}

std::string live_page(const std::vector<Run>& runs, const std::string& above) {
    const std::vector<std::string> labels = labels_of_runs(runs);
    return head(escaped(title_of(labels)), runs.size(), Delivery::server) + above +
           (runs.empty() ? "" : sections(runs, labels)) + "</body>\n</html>\n";
}

}  // namespace lockstep::launcher::report
