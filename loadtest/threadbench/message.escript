#!/usr/bin/env escript
%% The chain of threadbench's benchmark "message" as processes of Erlang. Prints one line of
%% "name value" pairs. Arguments: processes, messages, and how many messages a mailbox holds
%% before the sender waits; 0: the sender waits until its message has crossed the chain.
-mode(compile).

main([Threads, Messages, Capacity]) ->
    run(list_to_integer(Threads), list_to_integer(Messages), list_to_integer(Capacity)).

run(Threads, Messages, Capacity) ->
    Self = self(),
    %% Without a bound nobody needs to be told what was taken.
    Bound = case Capacity of N when N >= Messages -> unbounded; N -> N end,
    First = lists:foldl(
        fun(Number, Next) ->
            spawn(fun() -> stage_begin(Number, Next, Messages, Bound, Self) end)
        end, none, lists:seq(Threads, 1, -1)),
    First ! {previous, Self},
    receive ready -> ok end,
    {User0, Sys0, Switches0} = usage(),
    Began = erlang:monotonic_time(nanosecond),
    feed(First, Messages, Bound),
    Sum = receive {sum, S} -> S end,
    Took = erlang:monotonic_time(nanosecond) - Began,
    {User1, Sys1, Switches1} = usage(),
    io:format("sum ~b ns ~b user_ms ~b sys_ms ~b switches ~b kthreads ~b kib ~b otp ~s~n",
        [Sum, Took, User1 - User0, Sys1 - Sys0, Switches1 - Switches0,
         number(<<"Threads:">>, "/proc/self/status"), number(<<"Pss:">>, "/proc/self/smaps_rollup"),
         erlang:system_info(otp_release)]).

feed(First, Messages, unbounded) ->
    [First ! 0 || _ <- lists:seq(1, Messages)];
feed(First, Messages, 0) ->
    lists:foreach(fun(_) -> First ! 0, receive taken -> ok end end, lists:seq(1, Messages));
feed(First, Messages, Capacity) ->
    feed_credit(First, Messages, Capacity).

feed_credit(_, 0, _) -> ok;
feed_credit(First, Left, 0) -> receive taken -> feed_credit(First, Left, 1) end;
feed_credit(First, Left, Credit) -> First ! 0, feed_credit(First, Left - 1, Credit - 1).

%% The first number down the chain is who comes before; the last stage says that all stand.
stage_begin(_, Next, Messages, Bound, Main) ->
    receive {previous, Previous} -> ok end,
    case Next of
        none -> Main ! ready, Main ! {sum, last(Previous, Messages, Bound, 0)};
        _ -> Next ! {previous, self()}, stage(Previous, Next, Messages, Bound, Bound)
    end.

last(_, 0, _, Sum) -> Sum;
last(Previous, Left, Bound, Sum) ->
    receive
        Value when is_integer(Value) ->
            told(Previous, Bound),
            last(Previous, Left - 1, Bound, Sum + Value + 1)
    end.

stage(_, _, 0, _, _) -> ok;
stage(Previous, Next, Left, unbounded, _) ->
    receive Value when is_integer(Value) -> Next ! Value + 1 end,
    stage(Previous, Next, Left - 1, unbounded, unbounded);
stage(Previous, Next, Left, 0, _) ->
    receive Value when is_integer(Value) -> Next ! Value + 1 end,
    receive taken -> Previous ! taken end,
    stage(Previous, Next, Left - 1, 0, 0);
stage(Previous, Next, Left, Bound, Credit) ->
    Value = receive V when is_integer(V) -> V end,
    Previous ! taken,
    Now = case Credit of 0 -> receive taken -> 1 end; _ -> Credit end,
    Next ! Value + 1,
    stage(Previous, Next, Left - 1, Bound, Now - 1 + taken(0)).

%% Those that came meanwhile.
taken(Count) ->
    receive taken -> taken(Count + 1) after 0 -> Count end.

told(_, unbounded) -> ok;
told(Previous, _) -> Previous ! taken.

%% Of all kernel threads, in milliseconds.
usage() ->
    {ok, Stat} = file:read_file("/proc/self/stat"),
    [_, Rest] = binary:split(Stat, <<") ">>),
    Fields = binary:split(Rest, <<" ">>, [global]),
    {ok, Tasks} = file:list_dir("/proc/self/task"),
    Switches = lists:sum([number(<<"voluntary_ctxt_switches:">>, status(T)) +
        number(<<"nonvoluntary_ctxt_switches:">>, status(T)) || T <- Tasks]),
    {10 * binary_to_integer(lists:nth(12, Fields)),
     10 * binary_to_integer(lists:nth(13, Fields)), Switches}.

status(Task) -> "/proc/self/task/" ++ Task ++ "/status".

%% The number behind the word at the beginning of a line; 0 without it.
number(Word, Path) ->
    case file:read_file(Path) of
        {ok, Text} ->
            case re:run(Text, [<<"^">>, Word, <<"\\s*([0-9]+)">>],
                        [multiline, {capture, [1], list}]) of
                {match, [Digits]} -> list_to_integer(Digits);
                nomatch -> 0
            end;
        _ -> 0
    end.
