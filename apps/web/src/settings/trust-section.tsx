import type { TrustedFolder } from '@parley/protocol'
import { useCallback, useEffect, useState } from 'react'
import { client } from '../base/client.ts'
import { useNow } from '../base/clock.ts'
import { agoInWords } from '../base/format.logic.ts'
import { Button } from '../parts/button.tsx'
import { toast, toastError } from '../parts/toasts.tsx'
import { Section } from './section.tsx'

/** The folders whose settings, hooks and MCP servers agents may load. */
export function TrustSection() {
  const [folders, setFolders] = useState<readonly TrustedFolder[]>()
  const now = useNow()
  const load = useCallback(async () => {
    try {
      setFolders((await client.call('listTrustedFolders')).folders)
    } catch (thrown) {
      toastError(thrown)
    }
  }, [])
  useEffect(() => void load(), [load])
  const revoke = async (folder: string) => {
    try {
      await client.call('distrustFolder', { query: { folder } })
      const restore = () => void client.call('trustFolder', { body: { folder } }).then(load, toastError)
      toast('Folder no longer trusted.', { action: { label: 'Undo', run: restore } })
    } catch (thrown) {
      toastError(thrown)
    }
    await load()
  }
  return (
    <Section
      title="Trusted folders"
      purpose="Agents load settings, hooks and MCP servers from these folders and the folders inside them."
    >
      {folders?.length === 0 && <p className="text-sm">None. Agents load only your own settings.</p>}
      <ul className="flex flex-col gap-2">
        {folders?.map(({ folder, trustedAt }) => (
          <li
            key={folder}
            className="flex items-center gap-3 rounded-lg border border-line bg-card px-3.5 py-2 text-sm"
          >
            <span className="min-w-0 flex-1 font-mono text-xs [overflow-wrap:anywhere]">{folder}</span>
            <span className="text-xs text-faint">Trusted {agoInWords(trustedAt, now)}</span>
            <Button
              look="danger"
              aria-label={`Revoke trust of ${folder}`}
              onClick={() => void revoke(folder)}
            >
              Revoke
            </Button>
          </li>
        ))}
      </ul>
    </Section>
  )
}
