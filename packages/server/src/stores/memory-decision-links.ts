import type { DecisionLinkRecord, DecisionLinkStore } from '../core/decision-link-store.ts'

/** Decision links in memory. `forget` deletes the links of a session. */
export function createMemoryDecisionLinks(): {
  readonly methods: DecisionLinkStore
  readonly forget: (sessionId: string) => void
} {
  const links = new Map<string, DecisionLinkRecord>()
  const remove = (isOver: (link: DecisionLinkRecord) => boolean) => {
    for (const [hash, link] of links) if (isOver(link)) links.delete(hash)
  }
  const isOpen = ({ usedAt, revokedAt }: DecisionLinkRecord) =>
    usedAt === undefined && revokedAt === undefined
  const methods: DecisionLinkStore = {
    async addDecisionLink(link, most) {
      const { session, request } = link
      const ofRequest = [...links.values()].filter(
        (other) => other.session === session && other.request === request,
      )
      if (ofRequest.length >= most) return false
      links.set(link.hash, structuredClone(link))
      return true
    },
    decisionLink: async (hash) => structuredClone(links.get(hash)),
    unrevokedDecisionLinks: async (now) =>
      structuredClone(
        [...links.values()].filter((link) => link.revokedAt === undefined && link.expiresAt > now),
      ),
    async useDecisionLink(hash, at) {
      const link = links.get(hash)
      if (!link || !isOpen(link) || link.expiresAt <= at) return false
      links.set(hash, { ...link, usedAt: at })
      return true
    },
    async releaseDecisionLink(hash) {
      const { usedAt: _, ...link } = links.get(hash) ?? {}
      if ('hash' in link) links.set(hash, link as DecisionLinkRecord)
    },
    async revokeDecisionLink(id, at) {
      const link = [...links.values()].find((one) => one.id === id)
      if (!link || link.revokedAt !== undefined) return false
      links.set(link.hash, { ...link, revokedAt: at })
      return true
    },
    pruneDecisionLinks: async (before) => remove(({ expiresAt }) => expiresAt < before),
  }
  return { methods, forget: (sessionId) => remove(({ session }) => session === sessionId) }
}
