import type { ExportFormat } from '@parley/protocol'
import { Download } from 'lucide-react'
import { client } from '../base/client.ts'
import type { MenuEntry } from '../parts/menu-list.tsx'
import { toastError } from '../parts/toasts.tsx'

const formats: Record<ExportFormat, string> = {
  html: 'Web page (HTML)',
  markdown: 'Markdown',
  jsonl: 'Event log (JSONL)',
  'ui-messages': 'AI SDK UI messages (JSON)',
  'incoming-messages': 'Messages for IPC clients (JSON)',
  'run-events': 'Run events for scripts (JSON)',
}

/** The menu entry with all export formats. */
export function exportEntry(sessionId: string): MenuEntry {
  return {
    label: 'Export',
    icon: <Download size={14} />,
    entries: (Object.keys(formats) as ExportFormat[]).map((format) => ({
      label: formats[format],
      onSelect: () => void fetchExport(sessionId, format).catch(toastError),
    })),
  }
}

/** HTML opens in a new tab, the other formats are saved. The download address works once. */
async function fetchExport(sessionId: string, format: ExportFormat): Promise<void> {
  const { path } = await client.call('createDownload', { params: { id: sessionId }, body: { as: format } })
  const link = document.createElement('a')
  link.href = path
  if (format === 'html') Object.assign(link, { target: '_blank', rel: 'noopener' })
  else link.download = ''
  link.click()
}
