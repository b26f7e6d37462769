"""What runs cost before they are made: operations counted without computing, seconds, memory.

:mod:`.kept` is what others ask; :mod:`.ledger`, :mod:`.repeated`, :mod:`.stand_ins` and
:mod:`.passes` count, with torch; :mod:`.machines` and :mod:`.measured` say what that takes where.
"""
