import { Check, Copy } from 'lucide-react'
import { useState } from 'react'
import { Button, IconButton } from './button.tsx'
import { toastError } from './toasts.tsx'

/** Copies a text. If the browser refuses, an error is shown. */
export async function copyText(text: string, onCopied: () => void): Promise<void> {
  try {
    await navigator.clipboard.writeText(text)
    onCopied()
  } catch {
    toastError(new Error('The browser blocked copying.'))
  }
}

function useCopy(text: () => string) {
  const [copied, setCopied] = useState(false)
  const copy = () =>
    void copyText(text(), () => {
      setCopied(true)
      setTimeout(() => setCopied(false), 1500)
    })
  return { copied, copy }
}

type Props = { text: () => string; label?: string; className?: string }

export function CopyButton({ text, label = 'Copy', className }: Props) {
  const { copied, copy } = useCopy(text)
  return (
    <IconButton label={copied ? 'Copied' : label} className={className ?? ''} onClick={copy}>
      <CopyIcon copied={copied} />
    </IconButton>
  )
}

export function CopyText({ text, label }: { text: string; label: string }) {
  const { copied, copy } = useCopy(() => text)
  return (
    <Button onClick={copy} title={text}>
      <CopyIcon copied={copied} /> {copied ? 'Copied' : label}
    </Button>
  )
}

function CopyIcon({ copied }: { copied: boolean }) {
  return copied ? <Check size={14} className="text-good" /> : <Copy size={14} />
}
