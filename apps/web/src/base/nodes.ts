import type { NodeList } from '@parley/protocol'
import { useEffect } from 'react'
import { client } from './client.ts'
import { createStore, useStore } from './store.ts'

const nodes = createStore<NodeList>({ nodes: [] })
const refreshMs = 15_000
let isRefreshing = false

async function loadNodes(): Promise<void> {
  nodes.set(await client.call('listNodes'))
}

/**
 * The servers that share the database of this server. If there can be several, the list is loaded again at
 * intervals.
 */
export function useNodes(): NodeList {
  useEffect(() => {
    if (isRefreshing) return
    isRefreshing = true
    void refresh()
  }, [])
  return useStore(nodes)
}

async function refresh(): Promise<void> {
  if (!document.hidden && client.socket.status.state === 'open') await loadNodes().catch(() => undefined)
  const { nodes: known, database } = nodes.get()
  if (known.length === 0 || database) setTimeout(() => void refresh(), known.length === 0 ? 1_000 : refreshMs)
}
