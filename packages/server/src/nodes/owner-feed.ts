import type { OwnerFeed } from '../core/index.ts'
import type { PeerLinks } from './peer-links.ts'

/** Finds the owner of a session in the database. */
export type SessionFinder = {
  find(sessionId: string): Promise<{ readonly type: string; readonly url?: string }>
}

/** Follows sessions over the links to the nodes that own them. */
export function createOwnerFeed(finder: SessionFinder, links: PeerLinks): OwnerFeed {
  return {
    follow(sessionId, from, reader) {
      let isOver = false
      let stop = () => {}
      const lost = () => {
        if (!isOver) reader.lost()
        isOver = true
      }
      finder
        .find(sessionId)
        .then(({ url }) => {
          if (isOver) return
          const link = url === undefined ? undefined : links.at(url)
          if (link) stop = link.follow(sessionId, from, { ...reader, lost })
          else lost()
        })
        .catch(lost)
      return () => {
        isOver = true
        stop()
      }
    },
  }
}
