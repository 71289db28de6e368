import type { DecisionOptions } from '@parley/client'
import { type Answers, ParleyError } from '@parley/protocol'
import { useState } from 'react'
import { client } from '../page/client.ts'
import { toast, toastError } from '../page/toasts.tsx'

export type Place = { readonly sessionId: string; readonly requestId: string }

/** Sends an answer once. Whoever was second is told how it ended, not that something went wrong. */
export function useAnswer({ sessionId, requestId }: Place) {
  const [sending, setSending] = useState(false)
  const send = async (work: () => Promise<unknown>) => {
    if (sending) return
    setSending(true)
    try {
      await work()
    } catch (thrown) {
      const settled = thrown instanceof ParleyError && thrown.code === 'conflict'
      if (settled) toast(`Already answered elsewhere: ${String(thrown.details?.outcome ?? 'settled')}.`)
      else toastError(thrown)
      setSending(false)
    }
  }
  return {
    sending,
    decide: (decision: 'allow' | 'deny', options: DecisionOptions = {}) =>
      void send(() => client.decide(sessionId, requestId, decision, options)),
    answer: (answers: Answers) => void send(() => client.answer(sessionId, requestId, answers)),
  }
}
