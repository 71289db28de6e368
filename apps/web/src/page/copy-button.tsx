import { Check, Copy } from 'lucide-react'
import { useState } from 'react'
import { IconButton } from '../parts/button.tsx'
import { toastError } from './toasts.tsx'

export function CopyButton({
  text,
  label = 'Copy',
  className,
}: {
  text: () => string
  label?: string
  className?: string
}) {
  const [copied, setCopied] = useState(false)
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text())
      setCopied(true)
      setTimeout(() => setCopied(false), 1500)
    } catch {
      toastError(new Error('The browser did not let the page copy.'))
    }
  }
  return (
    <IconButton label={copied ? 'Copied' : label} className={className ?? ''} onClick={() => void copy()}>
      {copied ? <Check size={14} className="text-good" /> : <Copy size={14} />}
    </IconButton>
  )
}
