import { Check, Copy } from 'lucide-react'
import { useState } from 'react'
import { Button, IconButton } from './button.tsx'
import { toastError } from './toasts.tsx'

function useCopy(text: () => string) {
  const [copied, setCopied] = useState(false)
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text())
      setCopied(true)
      setTimeout(() => setCopied(false), 1500)
    } catch {
      toastError(new Error('The browser blocked copying.'))
    }
  }
  return { copied, copy: () => void copy() }
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

/** A copy button with a visible label. */
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
