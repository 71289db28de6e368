import type { ExpectedSession } from '@parley/protocol'
import { useEffect } from 'react'
import { client } from '../base/client.ts'
import type { Store } from '../base/store.ts'

/** How long the choices must stay the same before they are sent. */
const settledMs = 400

/** Announces the session to the server while its prompt is being written, so that its agent starts meanwhile. */
export function useAnnouncement(draft: Store<string>, session: ExpectedSession | undefined): void {
  const told = session && JSON.stringify(session)
  useEffect(() => {
    if (told === undefined) return
    const body = JSON.parse(told) as ExpectedSession
    let timer: ReturnType<typeof setTimeout> | undefined
    const look = () => {
      if (timer !== undefined || draft.get().trim() === '') return
      // This is only a hint: problems with the choices are reported when the session is created.
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
