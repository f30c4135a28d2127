"""The reliability bar, row by row: which tests hold it. A row without a test, or a test that is
gone, fails here."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import Final

import pytest

TESTS: Final = Path(__file__).parent
ROWS: Final = [*range(1, 54)]
"""Every row there is."""

BAR: Final[dict[int, tuple[str, tuple[str, ...]]]] = {
    1: ("kill -9 at any moment: no acknowledged memory lost, no manual step, first ACK <= 2 s "
        "after the restart", (
        "drills/test_whole_kill.py::test_four_kills_of_anything",
        "drills/test_whole_kill.py::test_two_hundred_kills_of_anything",
        "drills/test_kill.py::test_five_kills",
        "drills/test_kill.py::test_two_hundred_kills",
        "bar/test_scale.py::test_ten_thousand_notes",
        "daemon/test_owner.py::test_after_a_kill_the_next_command_works_within_three_seconds",
    )),
    2: ("death at each step of a write: the old state or the new, nothing between", (
        "vault/write/test_recovery.py::test_dying_at_any_step_leaves_the_old_or_the_new_and_nothin"
        "g_between",
        "vault/write/test_recovery.py::test_dying_while_committing_a_persons_edit_changes_no_byte_"
        "on_disk",
    )),
    3: ("power cut: what was acknowledged is there, git finds nothing wrong", (
        "drills/test_power.py::test_the_power_goes_at_any_step",
        "drills/test_power.py::test_more_notes_than_the_witness_names_are_durable_by_themselves",
        "drills/test_power.py::test_the_model_bites",
        "vault/write/test_recovery.py::test_a_power_cut_in_the_middle_of_a_write",
    )),
    4: ("full disk: nothing lost, the error names it, works again without a restart; 50 MB stay "
        "free", (
        "drills/test_whole_disk.py::test_a_full_disk_loses_nothing_and_needs_no_restart",
        "drills/test_whole_disk.py::test_a_full_disk_before_an_owner_starts",
        "drills/test_whole_disk.py::test_the_reserve_is_kept_free",
        "drills/test_disk.py::test_a_full_disk",
        "drills/test_disk.py::test_below_the_reserve_nothing_starts",
    )),
    5: ("read-only disk: recall answers, a write is refused within a second", (
        "drills/test_whole_disk.py::test_a_read_only_disk_answers_and_refuses_at_once",
        "drills/test_disk.py::test_a_read_only_disk",
    )),
    6: ("locks of the dead: moved aside and logged, the write succeeds within two seconds", (
        "vault/write/test_recovery.py::test_a_lock_of_a_dead_program_is_moved_aside_and_logged",
        "vault/git/test_activity.py::test_a_lock_nobody_holds_is_abandoned",
        "bar/test_bad_input.py::test_a_lock_of_a_living_git_is_untouched_and_of_a_dead_one_moved_a"
        "side",
    )),
    7: ("locks of a living git: untouched; acknowledged without the index, or refused within ten "
        "seconds", (
        "vault/write/test_recovery.py::test_a_lock_of_a_living_program_is_left_alone",
        "vault/git/test_activity.py::test_a_person_in_the_commit_editor_keeps_their_lock",
        "bar/test_bad_input.py::test_a_lock_of_a_living_git_is_untouched_and_of_a_dead_one_moved_a"
        "side",
    )),
    8: ("twenty and a hundred writers at once: nothing lost or refused, >= 20 ACK/s, p99 <= 2 s "
        "and <= 5 s", (
        "bar/test_writers.py::test_a_hundred_writers",
        "bar/test_writers.py::test_their_rate_on_a_quiet_machine",
        "drills/test_crowd.py::test_eight_writers_and_a_person",
        "drills/test_crowd.py::test_twenty_writers_and_a_person",
        "drills/test_whole_crowd.py::test_eight_clients",
        "drills/test_whole_crowd.py::test_eight_clients_for_a_minute",
    )),
    9: ("a person and a machine rewrite one note: every version of the person is in history", (
        "drills/test_crowd.py::test_an_editor_loop_against_a_machine_loop",
        "vault/write/test_recovery.py::test_a_person_saving_in_the_middle_keeps_their_text",
        "vault/worktree/test_files.py::test_a_save_in_the_last_moment_is_given_back",
    )),
    10: ("staged, unstaged and untracked work is never swept up", (
        "vault/test_vault.py::test_staged_work_is_the_persons",
        "vault/worktree/test_edits.py::test_staged_and_unmerged_paths_are_the_persons",
        "drills/test_crowd.py::test_eight_writers_and_a_person",
        "vault/git/test_activity.py::test_a_checkout_half_way_is_nobodys_edit",
        "bar/test_git_at_work.py::test_a_slow_checkout_there_and_back_leaves_no_commit",
        "drills/test_git_at_work.py::test_nothing_git_or_a_copier_does_is_committed_for_a_person",
    )),
    11: ("detached HEAD, merge, rebase, bisect: refused with the reason", (
        "vault/test_vault.py::test_the_middle_of_something_is_refused_and_left_alone",
        "vault/write/test_recovery.py::test_recovery_waits_while_a_person_is_in_the_middle_of_some"
        "thing",
    )),
    12: ("conflict markers: never committed, listed, the last good version answers", (
        "vault/worktree/test_edits.py::test_conflict_markers_are_never_committed",
        "index/test_refresh.py::test_an_unreadable_note_keeps_its_last_good_version",
        "index/test_refresh.py::test_what_was_committed_speaks_for_a_note_that_cannot_be_read",
        "index/test_refresh.py::test_it_is_never_older_than_what_head_says",
        "operations/read/test_readable.py::test_a_note_with_conflict_markers_shows_its_last_good_v"
        "ersion_and_says_so",
        "drills/test_old_notes.py::test_sixty_notes_of_somebody",
    )),
    13: ("bad YAML: a verdict for every shape, the file untouched, good notes found", (
        "core/frontmatter/test_yaml_block.py::test_there_are_enough_shapes",
        "core/frontmatter/test_yaml_block.py::test_every_shape_has_its_verdict_in_time",
        "drills/test_old_notes.py::test_sixty_notes_of_somebody",
    )),
    14: ("YAML bombs and nesting: refused within two seconds and 200 MB", (
        "core/frontmatter/test_yaml_block.py::test_every_shape_has_its_verdict_in_time",
        "core/frontmatter/test_yaml_block.py::test_all_shapes_together_stay_small",
    )),
    15: ("binary junk and encodings: a verdict; CRLF and BOM survive an edit", (
        "core/frontmatter/test_yaml_block.py::test_any_bytes_have_a_verdict",
        "core/frontmatter/test_yaml_block.py::test_edit_touches_only_its_key",
        "drills/test_old_notes.py::test_sixty_notes_of_somebody",
        "drills/test_old_notes.py::test_five_thousand_notes_of_somebody",
    )),
    16: ("a note of 30 MB, ten thousand notes in one pull: 1 MB indexed, below 500 MB of memory", (
        "bar/test_scale.py::test_a_note_of_thirty_megabytes",
        "bar/test_scale.py::test_ten_thousand_notes",
        "index/test_refresh.py::test_only_the_beginning_of_a_large_note_is_indexed",
        "drills/test_whole_editors.py::test_a_checkout_of_five_thousand_files",
    )),
    17: ("links, FIFOs, sockets, folders called x.md: never opened, in no answer", (
        "vault/worktree/test_files.py::test_scan_yields_notes_and_says_why_not",
        "vault/worktree/test_files.py::test_a_fifo_is_never_waited_for",
        "vault/test_vault.py::test_links_fifos_and_folders_are_never_written_through",
        "index/test_refresh.py::test_a_link_in_place_of_a_note_is_refused_and_the_note_kept",
        "drills/test_old_notes.py::test_sixty_notes_of_somebody",
    )),
    18: ("hostile ids and paths through every operation: no file outside touched", (
        "bar/test_traversal.py::test_names_of_every_kind_are_tried",
        "bar/test_traversal.py::test_nothing_outside_is_touched",
        "bar/test_bad_input.py::test_ids",
        "memory_tool/test_file_commands.py::test_no_name_leads_out_of_the_vault",
        "vault/test_vault.py::test_unsafe_and_unportable_paths_are_refused",
        "operations/remember/test_write.py::test_a_path_out_of_the_vault_is_refused",
    )),
    19: ("case and NFC/NFD twins, reserved and long names: ours are portable, foreign twins "
         "reported, neither lost", (
        "core/test_memory.py::test_slugs_are_safe_file_names",
        "vault/test_vault.py::test_a_case_twin_is_refused",
        "index/test_store.py::test_checking_against_a_tree",
        "drills/test_old_notes.py::test_sixty_notes_of_somebody",
    )),
    20: ("wrong clocks: the order is history's, strength stays a share, nothing fades at once", (
        "bar/test_bad_input.py::test_a_clock_in_the_past_or_the_future",
        "vault/test_vault.py::test_any_clock_makes_a_sound_commit",
        "vault/history/test_commit_log.py::test_the_log_is_ordered_by_history_not_by_clock",
        "core/time/test_strength.py::test_whatever_the_clock_says_the_result_is_a_share",
    )),
    21: ("daylight saving: each loop once a local day over a year, in every zone", (
        "operations/dream/test_scheduler.py::test_once_a_local_day_over_a_year_of_daylight_saving",
        "operations/dream/test_scheduler.py::test_each_local_night_once_also_when_its_hour_does_no"
        "t_exist",
        "operations/dream/test_scheduler.py::test_a_clock_that_is_set_back_runs_nothing_twice",
    )),
    22: ("a machine that slept for days: one run to catch up", (
        "operations/dream/test_scheduler.py::test_a_machine_that_slept_catches_up_once",
        "operations/dream/test_scheduler.py::test_three_days_of_sleep_are_one_run",
    )),
    23: ("a remote that is away, hangs or is slow: given up in bounded time, no lock left, "
         "back-off, status tells the age; writing goes on", (
        "sync/test_engine.py::test_a_remote_that_hangs_is_given_up_and_nothing_is_left",
        "sync/test_engine.py::test_an_ssh_that_hangs_ends_with_its_children",
        "sync/test_slow.py::test_a_remote_that_falls_silent_ends_with_what_to_do",
        "sync/test_slow.py::test_a_remote_that_answers_drop_by_drop_is_copied",
        "sync/test_engine.py::test_a_password_in_the_address_is_never_told",
        "operations/care/test_synchronize.py::test_out_of_reach_is_said_and_costs_nothing",
        "operations/care/test_synchronize.py::test_by_itself_it_backs_off",
    )),
    24: ("a history that was rewritten there: the old tip is kept, ours stays on main, the person "
         "is told", (
        "sync/test_engine.py::test_a_force_pushed_remote_stops_and_keeps_the_old_history",
        "sync/test_engine.py::test_who_rewrote_the_history_is_not_asked",
        "sync/test_engine.py::test_an_unrelated_remote_is_refused_until_a_person_says_so",
    )),
    25: ("far too many deletions, theirs or ours: stops and asks, nothing spreads", (
        "sync/test_engine.py::test_far_too_many_deletions_stop_in_either_direction",
        "sync/test_engine.py::test_a_few_deletions_and_many_moves_do_not_stop",
        "vault/worktree/test_edits.py::test_a_handful_of_deletions_is_believed_and_more_are_asked_"
        "about",
        "bar/test_git_at_work.py::test_many_deletions_are_asked_about_and_a_few_are_not",
    )),
    26: ("both sides edit: one tree, no word, tag or note lost, no markers, and it does not "
         "matter who merges", (
        "drills/test_sync_soak.py::test_thirty_steps",
        "drills/test_sync_soak.py::test_a_thousand_steps",
        "sync/test_plan.py::test_it_does_not_matter_who_plans",
        "sync/test_engine.py::test_a_person_edits_while_a_dream_reframes",
        "sync/test_engine.py::test_both_reframe",
        "sync/test_engine.py::test_one_forgets_what_the_other_reframes",
        "sync/test_engine.py::test_both_create_the_same_duplicate",
        "sync/test_engine.py::test_both_dream_the_same_night",
        "sync/test_nights.py::test_both_dream_the_same_night_and_a_person_pulls",
        "sync/test_nights.py::test_both_dream_the_same_night_and_sync",
        "sync/test_engine.py::test_who_changed_it_decides_what_a_forgetting_meets",
        "sync/test_by_hand.py::test_git_stops_where_one_side_took_away_what_the_other_changed_and_"
        "we_say_what_to_type",
        "sync/test_kills.py::test_dying_in_a_sync_is_made_good_by_the_next",
    )),
    27: ("no merge driver here: a sync merges all the same; a git that is too old is named", (
        "sync/test_engine.py::test_a_copy_without_the_driver_merges_all_the_same",
        "operations/care/test_synchronize.py::test_an_old_git_is_named",
    )),
    28: ("a race of pushes: at most eight tries, one merge for each", (
        "sync/test_engine.py::test_a_race_is_run_again_without_a_storm_of_merges",
        "sync/test_engine.py::test_a_race_that_never_ends_is_given_up",
    )),
    29: ("shallow and partial clones, submodules, hooks, signing, line endings, a foreign GIT_DIR", (
        "vault/git/test_repository.py::test_shallow_and_partial_clones_are_written_like_any_other",
        "vault/git/test_repository.py::test_a_submodule_is_no_file",
        "vault/test_vault.py::test_hooks_signing_filters_and_gc_of_the_person_are_not_run",
        "vault/test_vault.py::test_a_foreign_git_environment_is_ignored",
        "vault/test_vault.py::test_a_linked_worktree_is_a_vault_of_its_own_branch",
        "vault/test_layout.py::test_git_attributes_keep_bytes_as_they_are",
        "vault/git/test_commands.py::test_the_callers_git_variables_are_kept_from_the_child_only",
    )),
    30: ("a corrupt or missing object: the notes are named, refilled from the disk or a remote; "
         "the others are served and written", (
        "vault/health/test_repair.py::test_the_current_version_comes_back_from_the_disk",
        "vault/health/test_repair.py::test_an_earlier_version_comes_back_from_the_remote",
        "vault/health/test_repair.py::test_folders_and_commits_come_back_too",
        "vault/health/test_repair.py::test_a_damaged_index_of_a_pack_is_made_anew",
        "vault/health/test_repair.py::test_what_nobody_has_is_named",
        "vault/health/test_repair.py::test_only_what_is_missing_is_taken_from_a_remote",
        "vault/health/test_repair.py::test_a_damaged_ledger_stops_neither_answers_nor_writes",
        "operations/care/test_doctor.py::test_a_damaged_note_is_named_served_and_mended",
        "operations/care/test_doctor.py::test_a_folder_of_the_history_that_cannot_be_read",
    )),
    31: ("indexes missing or damaged: noticed within a minute, words answer meanwhile, the same "
         "answers after", (
        "drills/test_whole_loss.py::test_answers_survive_the_loss_of_every_index",
        "drills/test_whole_loss.py::test_answers_survive_it_with_the_real_model_too",
        "bar/test_same_answers.py::test_an_index_made_anew_gives_the_answers_of_one_that_lived",
        "bar/test_owner_at_rest.py::test_vectors_that_vanish_under_it_are_noticed_by_itself",
        "bar/test_scale.py::test_ten_thousand_notes",
        "index/test_damage.py::test_a_database_damaged_while_down",
        "index/test_damage.py::test_a_database_damaged_while_up",
        "index/test_damage.py::test_every_file_of_chroma_damaged_while_down",
        "index/test_damage.py::test_every_file_of_chroma_damaged_while_up",
        "index/test_damage.py::test_a_chroma_that_lost_its_segment_is_replaced",
        "index/test_damage.py::test_a_store_that_fails_while_up_is_replaced_and_words_answer_meanw"
        "hile",
        "index/test_damage.py::test_the_whole_folder_deleted_while_up",
    )),
    32: ("one owner of the indexes, ever: the second is refused or goes through the socket", (
        "daemon/test_owner.py::test_a_second_serve_is_refused",
        "daemon/test_owner.py::test_no_daemon_uses_an_owner_that_is_there",
        "daemon/test_owner.py::test_twelve_clients_at_once_start_one_owner",
        "daemon/test_owner.py::test_lone_commands_wait_for_each_other",
        "daemon/test_vanishing.py::test_no_second_owner_while_the_first_one_lives",
        "daemon/test_vanishing.py::test_a_copy_that_takes_the_place_of_a_moved_vault_has_an_owner_"
        "of_its_own",
        "drills/test_whole_crowd.py::test_eight_clients",
    )),
    33: ("another model or dimension: its own collection, the old one serves until the new is "
         "whole", (
        "index/test_store.py::test_another_model_gets_vectors_of_its_own_while_the_old_ones_answer",
        "index/vectors/test_backends.py::test_names_of_stores_tell_models_apart",
        "index/vectors/test_backends.py::test_another_dimension_is_refused_by_chroma",
    )),
    34: ("missed, doubled, reordered events: an index equal to a fresh one within five seconds of "
         "quiet, no loops", (
        "drills/test_whole_editors.py::test_every_way_of_saving",
        "drills/test_whole_editors.py::test_git_at_work_beside_the_owner",
        "drills/test_whole_editors.py::test_a_checkout_of_five_thousand_files",
        "index/test_property.py::test_any_history_ends_in_the_same_index",
        "index/test_watch.py::test_lost_events_are_heard_of",
        "bar/test_owner_at_rest.py::test_its_own_writes_set_nothing_going",
    )),
    35: ("no inotify watches left, a network disk: polls, and says so", (
        "bar/test_owner_at_rest.py::test_without_events_it_polls_and_says_so",
        "index/test_watch.py::test_when_no_watch_is_left_it_polls_and_says_so",
        "index/test_watch.py::test_network_disks_are_recognised",
        "index/test_watch.py::test_polling_compares_everything_again_and_again",
    )),
    36: ("owner dead, socket stale, process number reused: up again within three seconds", (
        "daemon/test_owner.py::test_after_a_kill_the_next_command_works_within_three_seconds",
        "daemon/test_owner.py::test_a_reused_process_number_is_left_alone",
        "daemon/test_owner.py::test_a_suspended_owner_is_named_and_nothing_hangs",
        "daemon/test_client.py::test_a_stale_socket",
        "drills/test_whole_kill.py::test_four_kills_of_anything",
    )),
    37: ("a holder of the lease that died or hangs: taken over within five seconds, the late one "
         "commits nothing; two machines: 0 double merges", (
        "sync/test_remote_lease.py::test_a_holder_that_died_is_taken_over_when_it_stood_still_here",
        "sync/test_remote_lease.py::test_being_quick_does_not_let_a_late_holder_in",
        "operations/dream/test_run_lease.py::test_the_lease_is_lost_in_the_middle",
        "drills/test_two_machines.py::test_a_hundred_nights_of_two_machines",
        "operations/dream/test_run_lease.py::test_a_dead_holder_is_taken_over_at_once",
        "operations/dream/test_run_lease.py::test_a_holder_that_hangs_is_taken_over_and_knows",
        "operations/dream/test_run_lease.py::test_a_run_that_was_taken_over_commits_nothing",
        "operations/dream/test_run_loop.py::test_two_at_once",
        "drills/test_two_runners.py::test_a_hundred_trials_of_two_runners",
    )),
    38: ("a loop stopped half-way: run again, it changes nothing twice", (
        "drills/test_dream_kill.py::test_two_kills_of_a_dreamer",
        "drills/test_dream_kill.py::test_a_hundred_and_twenty_kills_of_a_dreamer",
        "operations/dream/test_run_loop.py::test_stopping_keeps_what_was_done",
    )),
    39: ("bad judges of every kind: nothing follows from what is no answer, a tenth of the notes "
         "a run, the budget kept", (
        "operations/dream/test_run_loop.py::test_no_judge_can_lose_anything",
        "operations/dream/test_run_loop.py::test_whole_nights_of_any_judge",
        "mind/test_drive_loop.py::test_a_bad_judge_decides_nothing_and_is_reported",
        "core/test_question.py::test_a_bad_answer_changes_nothing_and_says_why",
    )),
    40: ("a hundred MCP clients at once, slow ones among them: every request answered, the owner "
         "stays small", (
        "http/test_attacks.py::test_a_hundred_clients_at_once",
        "http/test_attacks.py::test_slow_heads_are_hung_up_on_while_others_are_served",
        "http/test_attacks.py::test_a_slow_body_is_408",
        "http/test_attacks.py::test_too_many_connections_leave_the_socket_alone",
    )),
    41: ("malformed JSON-RPC and HTTP: the right answer each, alive, stdout only JSON-RPC, large "
         "headers and bodies refused", (
        "mcp/test_fuzz.py::test_over_stdio",
        "mcp/test_fuzz.py::test_over_http",
        "http/test_fuzz.py::test_over_tcp",
        "http/test_attacks.py::test_what_is_no_json_rpc_is_said_to_be_none",
        "http/test_attacks.py::test_a_hundred_megabytes_are_413_and_not_held",
        "http/test_attacks.py::test_large_headers",
        "http/test_attacks.py::test_what_is_no_http",
    )),
    42: ("DNS rebinding, requests of other pages: 403 or 421, wherever it is bound", (
        "http/test_attacks.py::test_a_foreign_host_is_421",
        "http/test_attacks.py::test_a_foreign_origin_is_403",
        "http/test_attacks.py::test_what_a_page_may_send_without_asking_is_415",
        "http/test_parts.py::test_other_names",
        "http/test_login.py::test_behind_a_proxy",
    )),
    43: ("OAuth: replay, no or plain PKCE, redirect tricks, audience, mix-up, reuse, tokens in "
         "addresses: all refused", (
        "http/test_login.py::test_a_replayed_code_ends_what_came_of_it",
        "http/test_login.py::test_a_stolen_code_is_of_no_use_and_spent_by_the_attempt",
        "http/test_login.py::test_bad_requests_go_back_with_the_issuers_name",
        "http/test_login.py::test_redirect_tricks_send_nobody_anywhere",
        "http/test_login.py::test_a_token_for_another_audience",
        "http/test_login.py::test_a_used_refresh_token_ends_the_family",
        "http/test_login.py::test_a_good_answer_names_its_issuer_too",
        "http/test_attacks.py::test_a_token_in_the_address_is_refused_even_beside_a_good_one",
        "http/test_attacks.py::test_without_a_good_token_it_is_401_and_says_where_to_get_one",
        "http/auth/test_access_tokens.py::test_a_code_is_old_after_a_minute",
    )),
    44: ("service keys: hashed, shown once, every cell of role and tool, limited, revoked within "
         "a second", (
        "http/test_attacks.py::test_every_cell_of_role_and_tool_writes_only_where_it_may",
        "http/test_attacks.py::test_every_cell_of_role_and_route_writes_only_where_it_may",
        "http/test_attacks.py::test_a_revoked_key_is_dead_within_a_second",
        "http/test_listen_tcp.py::test_new_settings_are_taken_up_by_the_same_process",
        "cli/commands/test_keys.py::test_a_key_is_shown_once",
        "http/auth/test_access_tokens.py::test_the_secret_is_nowhere_on_the_disk",
    )),
    45: ("secrets: found before the commit on every way in; in no log, no trace, no error; what "
         "is private in nothing at all", (
        "bar/test_secrets.py::test_there_are_thirty_shapes",
        "bar/test_secrets.py::test_every_door_refuses_every_shape_and_repeats_none",
        "bar/test_secrets.py::test_the_command_line_and_the_network_refuse_them_too",
        "bar/test_secrets.py::test_what_comes_by_itself_is_stored_without_them",
        "bar/test_secrets.py::test_a_persons_own_edits_wait_on_disk",
        "bar/test_secrets.py::test_redacted_instead_everything_arrives_without_them",
        "bar/test_secrets.py::test_a_question_with_one_is_not_noted_in_the_ledger",
        "vault/secrets/test_secret_scan.py::test_what_is_in_history_already_is_no_news",
        "vault/secrets/test_secret_scan.py::test_what_only_looks_like_one_is_none",
        "bar/test_secrets.py::test_what_callers_send_is_in_no_log",
        "bar/test_secrets.py::test_what_is_private_is_nowhere",
        "http/auth/test_access_tokens.py::test_the_secret_is_nowhere_on_the_disk",
        "http/test_attacks.py::test_the_audit_log_says_who_did_what_and_never_a_word",
        "mcp/tools/test_tool.py::test_a_call_is_logged_without_its_words",
        "operations/remember/test_store_captures.py::test_private_words_never_reach_the_repository",
        "capture/test_transcripts.py::test_private_words_are_gone_wherever_they_stand",
    )),
    46: ("planted orders: quoted with their origin on every way to a model, no delimiter left, "
         "never orientation", (
        "bar/test_injection.py::test_the_corpus_is_large_enough",
        "bar/test_injection.py::test_every_way_to_a_model_quotes_what_was_planted",
        "bar/test_injection.py::test_what_is_put_in_unasked_is_quoted_too",
        "bar/test_injection.py::test_nothing_from_outside_is_orientation_until_a_person_says_so",
        "bar/test_injection.py::test_a_model_cannot_make_orientation_of_it",
        "bar/test_planted_nights.py::test_no_planted_order_becomes_orientation",
        "mind/test_orientation_nights.py::test_a_hundred_nights",
        "core/markdown/test_quoting.py::test_no_delimiter_survives",
        "core/markdown/test_quoting.py::test_no_mixture_survives",
    )),
    47: ("ten planted among a hundred: a fifth of an answer at most, taken back by one command", (
        "bar/test_poison.py::test_a_flood_gets_a_fifth_of_an_answer",
        "bar/test_poison.py::test_what_is_said_ten_times_is_one_voice_where_all_memories_are_from_"
        "outside",
        "bar/test_poison.py::test_they_were_first_without_that",
        "bar/test_poison.py::test_one_commit_planted_them_and_one_command_takes_them_back",
        "bar/test_poison.py::test_one_command_takes_back_what_ten_conversations_brought",
        "operations/dream/test_sources.py::test_a_session_and_all_that_loops_made_of_it_are_taken_"
        "back_exactly",
    )),
    48: ("lines that say who a model is: stopped, describing ones pass; no machine-written line "
         "of ours does", (
        "classify/test_orientation_gate.py::test_no_line_that_prescribes_passes",
        "classify/test_orientation_gate.py::test_lines_that_describe_pass",
        "core/markdown/test_orientation.py::test_no_machine_written_line_says_who_anybody_is",
        "mind/test_validate.py::test_no_loop_writes_orientation_that_prescribes",
    )),
    49: ("attachments of the wrong kind, bombs, flipped bytes: refused before they are decoded, "
         "found when served", (
        "operations/remember/test_images.py::test_bad_pictures_are_refused_and_nothing_is_written",
        "operations/remember/test_images.py::test_a_bomb_is_refused_without_allocating",
        "operations/remember/test_images.py::test_a_bomb_that_arrived_by_pull_is_not_decoded",
        "operations/remember/test_images.py::test_a_picture_that_lies_about_its_size_is_not_decode"
        "d",
        "operations/remember/test_images.py::test_a_flipped_byte_is_found_when_served_and_by_check"
        "_and_doctor",
        "vault/worktree/test_attachments.py::test_a_flipped_byte_is_found_and_the_right_bytes_are_"
        "served",
    )),
    50: ("attachments that are not here yet, or that nobody shows any more: marked, named, never "
         "deleted", (
        "operations/remember/test_images.py::test_a_picture_that_is_not_here_yet",
        "operations/remember/test_images.py::test_a_clone_that_gets_the_picture_later",
        "operations/remember/test_images.py::test_unused_ones_are_named_and_never_deleted",
        "operations/remember/test_images.py::test_a_proposal_or_a_broken_note_is_reason_enough_to_"
        "keep_one",
        "vault/worktree/test_attachments.py::test_not_here_yet_and_gone_from_the_disk",
    )),
    51: ("history tampered with: noticed at the next start and write, the old one kept; writes "
         "stop until a person has said what is meant", (
        "vault/write/test_write_lock.py::test_a_reset_stops_writes_and_not_reading",
        "vault/write/test_write_lock.py::test_a_person_can_accept_it",
        "vault/write/test_write_lock.py::test_another_process_that_has_it_open_knows_at_once",
        "vault/write/test_write_lock.py::test_an_amend_that_takes_words_out",
        "vault/write/test_write_lock.py::test_an_old_history_that_is_gone_is_said",
        "vault/write/test_write_lock.py::test_a_commit_that_waits_for_the_index_counts_too",
        "vault/write/test_write_lock.py::test_what_keeps_every_note_stops_nobody",
        "vault/write/test_write_lock.py::test_what_we_do_ourselves_is_no_tampering",
        "operations/care/test_doctor.py::test_a_rewritten_history_is_said_until_a_person_accepts_i"
        "t",
    )),
    52: ("known faults of what it rests on: named by version, with what is done about them", (
        "operations/care/test_doctor.py::test_known_faults_are_told_by_version",
        "operations/care/test_synchronize.py::test_an_old_git_is_named",
    )),
    53: ("restore drill: from the remote alone, on a bare machine, the same ten best for fifty "
         "questions of fifty; 10,000 notes in 5 minutes", (
        "drills/test_restore.py::test_a_hundred_notes_restored",
        "drills/test_restore.py::test_ten_thousand_notes_restored",
    )),
}  # fmt: skip


@cache
def functions(file: str) -> dict[str, ast.FunctionDef]:
    tree = ast.parse((TESTS / file).read_text(encoding="utf-8"))
    return {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}


def skipped(node: ast.FunctionDef) -> bool:
    """Never run at all: a test with such a mark holds nothing."""
    return any(
        mark in ast.unparse(decorator)
        for decorator in node.decorator_list
        for mark in ("mark.xfail", "mark.skip(", "mark.skip)")
    )


def test_no_row_is_missing() -> None:
    assert sorted(BAR) == ROWS
    assert all(tests and promise for promise, tests in BAR.values())


@pytest.mark.parametrize("row", ROWS)
def test_every_row_is_held_by_tests_that_exist(row: int) -> None:
    for name in BAR[row][1]:
        file, _, function = name.partition("::")
        found = functions(file).get(function)
        assert found is not None, f"row {row}: there is no test {name}"
        assert any(isinstance(node, ast.Assert | ast.Call) for node in ast.walk(found)), (
            f"row {row}: {name} checks nothing"
        )
        assert not skipped(found), f"row {row}: {name} is never run"


@pytest.mark.parametrize("row", ROWS)
def test_every_row_has_a_test_in_the_default_run(row: int) -> None:
    def slow(name: str) -> bool:
        file, _, function = name.partition("::")
        return any(
            mark in ast.unparse(found)
            for found in functions(file)[function].decorator_list
            for mark in ("mark.drill", "mark.model")
        )

    assert not all(slow(name) for name in BAR[row][1])
