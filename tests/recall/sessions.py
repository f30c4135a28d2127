"""A hundred conversations as clients capture them: what a person asked, what came back, and the
fact in it, if any."""

from __future__ import annotations

from typing import NamedTuple


class Talked(NamedTuple):
    """One conversation; `fact` is empty where nothing in it will matter later."""

    prompt: str
    reply: str
    fact: str

    @property
    def text(self) -> str:
        """As a transcript is rendered."""
        return f"User: {self.prompt}\n\nAssistant: {self.reply}"


_WITH = """
why does the nightly import time out | The proxy cuts connections after 60 seconds. | Imports over 60 seconds are cut off by the proxy.
fix the flaky checkout test | It compared local time with UTC; frozen now. | The checkout test failed because it compared local time with UTC.
which port does staging postgres use? | Staging uses 5433. | The staging Postgres listens on port 5433.
set up the release pipeline for the mobile app | Done, signing needs the key in vault slot 3. | Mobile signing reads slot 3.
how do I run the linter | Use `make check`. | The linter of this repository runs with `make check`.
what did we decide about pagination | Cursors, because offsets skip rows. | Pagination uses cursors since offsets skip rows under writes.
add retries to the billing client | Added, three attempts, never on 402. | The billing client retries three times and never on 402.
can you rename the user table to accounts | Renamed; the old view stays until March. | A view named users stays until March.
why is the search so slow on production | The index lacks the tenant column. | Production search needs an index on the tenant column.
when is Ana on holiday? | She is away from 3 to 17 August. | Ana is away from 3 to 17 August.
who reviews database migrations | Bogdan reviews all of them. | Bogdan reviews every database migration.
make the dashboard load faster | The charts load lazily now, 4.1 to 0.9 seconds. | Charts that load lazily took the dashboard from 4.1 to 0.9 seconds.
what was the reason we dropped GraphQL | Caching at the edge did not work with it. | GraphQL was dropped since edge caching failed.
write a migration for the new invoice numbers | Written; numbers may have no gaps by law. | By law invoice numbers have no gaps.
the docker build fails on arm | The base image has no arm64 variant before 3.12. | Base images before 3.12 lack arm64.
remind me how we deploy the docs | A push to the branch `pages` deploys them. | Documentation is deployed by a push to `pages`.
why did the canary roll back yesterday | Error rate was .8 percent, the limit is .5. | Canaries roll back above .5 percent errors.
clean up the feature flags | Removed twelve; `new_cart` stays for Brazil. | The flag new_cart stays on for Brazil.
what is the rate limit of the partner api | 40 requests a second for each key. | The partner interface allows 40 requests a second per key.
translate the onboarding mail to german | Done, with the formal Sie as marketing wants. | Marketing wants the formal address in German mail.
update the dependencies please | All but numpy, which breaks the pickle cache. | Numpy is pinned because newer ones break the pickle cache.
where are the backups stored? | In Frankfurt, kept for 35 days. | Backups lie in Frankfurt for 35 days.
help me debug the memory leak in the worker | The PDF renderer leaks; the worker restarts after 50. | The PDF renderer leaks memory.
should we use uuid or ulid for events | ULID, they sort by time. | Events have ULIDs because those sort by time.
review my pull request about caching | Looks good; invalidate on tenant change. | The cache is invalidated when a tenant changes.
explain the auth flow to me | Tokens live 15 minutes, refresh tokens a week. | Tokens live 15 minutes, refresh tokens one week.
make the tests run in parallel | Four workers; the mail tests share a port and stay serial. | Mail tests share a port and run serially.
what does error E42 mean | The tenant has no billing address. | E42 says that a tenant has no billing address.
add dark mode to the settings page | Added, the brand colour needs 4.5 contrast. | Brand colours must reach a contrast of 4.5.
how many customers use the old api | Eleven; it ends on 30 June. | The old interface ends on 30 June with eleven customers left.
why are the emails going to spam | The SPF record lacked the new sender. | SPF must list the new mail sender.
change the cron job to run at night | It runs at 02:30 UTC, after the exports. | The report job runs at 02:30 UTC after exports.
which browser versions do we support | The last two of each, and Safari 15. | Supported are the last two versions and Safari 15.
convert the csv parser to streaming | Done; files reach 9 GB at one customer. | One customer uploads 9 GB CSV files.
is it safe to delete the legacy bucket | No, the auditors read it until 2027. | Auditors read the legacy bucket until 2027.
generate the changelog for the release | Done, breaking changes first as Priya likes it. | Priya wants breaking changes first in changelogs.
speed up the ci please | Caching wheels saves 6 minutes. | Caching wheels saves 6 minutes of continuous integration.
what's the wifi password policy for guests | A new one every Monday at reception. | Guests get new network words at reception every Monday.
move the images to the cdn | Moved; originals stay under 2 MB. | Images on the content network stay under 2 MB.
draft a reply to the customer about refunds | Drafted, refunds take five working days. | Refunds take five working days.
split the monolith config into files | Split by team, `platform` owns the defaults. | Team platform owns the default configuration.
why does safari log people out | It drops third party cookies after a day. | Safari drops our third party cookies after one day.
add a health check endpoint | It is /livez; the balancer asks every 5 seconds. | The balancer asks /livez every 5 seconds.
how should I name branches | Ticket first, then a slug. | Branch names begin with the ticket.
prepare the demo for thursday | Prepared on tenant `aurora`. | Demonstrations run on tenant aurora.
increase the test coverage of the parser | 91 percent now; the gate is 88. | The coverage gate of the parser is 88 percent.
can we drop python 3.9 | Yes, the last customer moved in May. | Python 3.9 is not needed since May.
what is the budget for the offsite | 14,000 euro for everybody. | The offsite may cost 14,000 euro.
tune the autoscaler | Scale at 60 percent, warm-up takes 3 minutes. | New machines take 3 minutes to warm up.
find out why the webhook is retried | We answered 204, they want 200. | The partner's webhook wants 200, never 204.
"""
_WITHOUT = """
fix the failing test | Which one? There are two. Fixed both.
continue | Continuing.
ok thanks, commit it | Committed.
run the tests again | All green.
write a haiku about autumn | Leaves let go of the branch.
what time is it in Tokyo | Nine in the evening.
explain this error | It is a missing import.
make it shorter | Shorter now.
rename the variable to total | Renamed.
format the file | Formatted.
undo that | Undone.
what is the capital of Australia? | Canberra.
add a docstring to this function | Added.
sort the imports | Sorted.
can you try again | Tried again, the same.
show me the diff | Here it is.
why doesn't this compile | A bracket is missing.
summarize the file you just read | It parses arguments.
write a unit test for the parser | Written.
what does this regex do | It matches digits.
please push the branch | Pushed.
convert this to typescript | Converted.
how do I reverse a list in python | Use reversed.
thanks, that works now | Good.
open the readme | Opened.
remove the print statements | Removed.
what is the difference between tcp and udp | One keeps order.
tell me a joke | A byte walks into a bar.
clean up the code | Cleaned up.
fix the typo in the title | Fixed.
is there a shorter way to write this loop | A comprehension.
make the button blue | Blue.
lint it | Nothing to report.
what's wrong with my query | The join is missing.
add logging here | Added.
refactor this into two functions | Done.
did you save the file? | Yes.
look at the stack trace and tell me what happened | A null value.
check if the server is running | It is running.
generate ten random names | Here are ten.
merge main into my branch | Merged.
create an empty folder called tmp | Created.
write the commit message for me | Written.
search the codebase for deprecated calls | None left.
use single quotes instead | Changed.
bump the version | Bumped.
why is the build red | A test failed, I restarted it.
now do the same for the other file | Done.
go on with the next step | Going on.
print the first ten lines | Printed.
"""


def _talked(line: str) -> Talked:
    prompt, reply, *fact = (part.strip() for part in line.split(" | "))
    return Talked(prompt, reply, *(fact or [""]))


SESSIONS = tuple(_talked(line) for line in (_WITH + _WITHOUT).splitlines() if line)
NOTES = (
    "The failing test of the importer was fixed by pinning the clock.",
    "Ana prefers releases on Thursdays; on Fridays support is short-staffed.",
    "Integration tests need the Postgres container; without it they hang instead of failing.",
    "The search index is rebuilt every Sunday at three and takes nine hours.",
    "The boat is called Petrel and lies in Bergen harbour.",
    "Commits of this repository are signed, and the message names the ticket.",
)
"""What the vault holds besides."""
