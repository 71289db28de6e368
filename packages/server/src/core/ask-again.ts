/** Said to an agent that remembers the call it waited for, when it is started again with the answer. */
export const askAgain =
  'Parley was restarted while you waited for an answer. Go on where you were: call the same tool again with the same input.'
