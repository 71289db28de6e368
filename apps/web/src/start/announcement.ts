import type { ExpectedSession } from '@parley/protocol'
import { useEffect } from 'react'
import { client } from '../page/client.ts'
import type { Store } from '../page/store.ts'

/** Choices that stand for this long are told. */
const settledMs = 400

/** Tells the server which session is coming, once its prompt is being written, so that its agent is started meanwhile. */
export function useAnnouncement(draft: Store<string>, session: ExpectedSession | undefined): void {
  const told = session && JSON.stringify(session)
  useEffect(() => {
    if (told === undefined) return
    const body = JSON.parse(told) as ExpectedSession
    let timer: ReturnType<typeof setTimeout> | undefined
    const look = () => {
      if (timer !== undefined || draft.get().trim() === '') return
      // It is only a hint: what is wrong with the choices is said when the session is created.
      timer = setTimeout(() => void client.call('prepareSession', { body }).catch(() => undefined), settledMs)
    }
    look()
    const stop = draft.subscribe(look)
    return () => {
      stop()
      clearTimeout(timer)
    }
  }, [draft, told])
}
